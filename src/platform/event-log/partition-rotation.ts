import { Injectable } from '@nestjs/common';
import { afterCommit, Transactions, type Tx } from '../database/transactions.js';
import { isBlocked } from '../database/pg-errors.js';
import { sleep } from '../time/clock.js';
import { EventPartitions, REST, type PartedLog, type Span } from './partitions.js';

const HOUR_MS = 3_600_000;
/** What is kept for less is so little that its rows are deleted. */
const LEAST_MS = 24 * HOUR_MS;
/** Parts that together are as long as events are kept: it is by one of them that an event may be kept for longer. */
const PARTS = 4;
/** Streams whose writers wait for each other's floors. */
const FLOORS = 50;
/** Those who wait for the log to be free for a moment, behind a long read. */
const TRIES = 50;
const BETWEEN_MS = 400;

/**
 * Keeps a log whose events are dropped at some time in parts by time. Floors go up first; a part is dropped when nobody can be reading any more
 * who has seen the floors before.
 */
@Injectable()
export class EventParts {
  /** Longer than any statement. A test waits for nobody. */
  graceMs = 60_000;
  /** A rest of so many bytes is looked through while its lock is held; a larger one before. */
  smallBytes = 16 * 1024 * 1024;
  /** Since when nothing of a part is above a floor, as far as this process has seen, by its own clock that nobody sets. */
  readonly #left = new Map<string, number>();

  constructor(
    private readonly transactions: Transactions,
    private readonly partitions: EventPartitions,
  ) {}

  /**
   * Makes the parts that come next, and drops those that are too old, by the clock that gave the events their times: a worker whose own goes wrong
   * would drop what is to be kept. Answers how many, and from when on events are in parts and go with them: where a part is as wide as it was for what
   * was kept for longer before, its events go one by one as all others.
   */
  async round(keptMs: number | undefined, signal?: AbortSignal): Promise<{ dropped: number; since: Date | undefined }> {
    const now = (await this.transactions.run((tx) => this.partitions.now(tx))).getTime();
    let log = await this.transactions.run((tx) => this.partitions.find(tx));
    if (log?.keepsFree === true) await this.#alone((tx) => this.partitions.keepFreeNoMore(tx), signal);
    if (keptMs !== undefined && keptMs >= LEAST_MS) log = await this.#ahead(log, now, keptMs / PARTS, signal);
    if (log === undefined) return { dropped: 0, since: undefined };
    const isWide = log.partitions.some(({ from, to }) => keptMs !== undefined && to.getTime() - from.getTime() > keptMs);
    const since = isWide ? undefined : log.partitions[0]?.from;
    return { dropped: keptMs === undefined ? 0 : await this.#drop(log, new Date(now - keptMs), signal), since };
  }

  /** There is always one more than is written to. The first begins later: until then events go where they always went. */
  async #ahead(found: PartedLog | undefined, now: number, widthMs: number, signal?: AbortSignal): Promise<PartedLog | undefined> {
    let log = found;
    if (log === undefined) {
      await this.#alone(async (tx) => {
        if ((await this.partitions.find(tx)) === undefined) await this.partitions.part(tx);
      }, signal);
      log = await this.transactions.run((tx) => this.partitions.find(tx));
    }
    for (let n = 0; n < 2 && log !== undefined; n++) {
      const last = log.partitions.at(-1)?.to.getTime() ?? 0;
      if (last > now + widthMs) break;
      const from = Math.max(last, Math.ceil((now + (log.restBytes > this.smallBytes ? widthMs : HOUR_MS)) / HOUR_MS) * HOUR_MS);
      await this.#add(log, await this.#free(from, Math.ceil(widthMs / HOUR_MS) * HOUR_MS), signal);
      log = await this.transactions.run((tx) => this.partitions.find(tx));
    }
    return log;
  }

  /**
   * The first span from a time on of which the rest has nothing. While the clock of the database is ahead events come into the rest that are of
   * a later time, and their streams go on at that time once the clock is right: a part could not have it, and to keep it free would stop them.
   */
  async #free(from: number, lengthMs: number): Promise<Span> {
    const span = { from: new Date(from), to: new Date(from + lengthMs) };
    const newest = await this.transactions.run((tx) => this.partitions.newest(tx, REST, span));
    return newest === undefined ? span : this.#free((Math.floor(newest.getTime() / HOUR_MS) + 1) * HOUR_MS, lengthMs);
  }

  async #add(log: PartedLog, span: Span, signal?: AbortSignal): Promise<void> {
    const large = log.restBytes > this.smallBytes;
    let added = false;
    try {
      added = await this.#addFree(large, span, signal);
    } finally {
      // What is kept free for nothing would refuse what is written once its time has come. So it goes also where the worker stops.
      if (large && !added) await this.#alone((tx) => this.partitions.keepFreeNoMore(tx));
    }
    if (added) await this.#alone((tx) => this.partitions.analyze(tx), signal);
  }

  async #addFree(large: boolean, span: Span, signal?: AbortSignal): Promise<boolean> {
    if (large) {
      const keep = async (tx: Tx): Promise<void> => {
        await this.partitions.keepFreeNoMore(tx);
        await this.partitions.keepFree(tx, span);
      };
      if (!(await this.#alone(keep, signal))) return false;
      if (!(await this.#alone((tx) => this.partitions.checkFree(tx), signal))) return false;
    }
    const add = async (tx: Tx): Promise<void> => {
      const log = await this.partitions.find(tx);
      // Another one has taken it back: to look through the rest would keep everybody waiting.
      if (log === undefined || (large && !log.keepsFree)) return;
      const there = log.partitions;
      if (!there.some(({ from, to }) => from < span.to && to > span.from)) await this.partitions.add(tx, span);
      if (large) await this.partitions.keepFreeNoMore(tx);
    };
    return this.#alone(add, signal);
  }

  async #drop(log: PartedLog, before: Date, signal?: AbortSignal): Promise<number> {
    let dropped = await this.#dropDetached(log.detached, signal);
    for (const name of await this.#old(log, before)) {
      if (signal?.aborted === true || !(await this.#leave(name, before, signal).catch(orGone))) continue;
      const at = new Date();
      const detach = (tx: Tx): Promise<void> => (name === REST ? this.partitions.detachRest(tx, at) : this.partitions.detach(tx, name));
      const detached = await this.#alone(async (tx) => {
        // Where there is no part for what is written now it comes into the rest: from here on nobody writes.
        if (name === REST) await this.partitions.lock(tx);
        // Whoever had a turn in between may have dropped it, and somebody may have written.
        if (!(await this.#isOver(tx, name, before)) || (await this.partitions.above(tx, name, before)).length > 0) return;
        await detach(tx);
      }, signal);
      if (!detached) continue;
      this.#left.delete(name);
      const now = await this.transactions.run((tx) => this.partitions.find(tx));
      dropped += await this.#dropDetached(now?.detached ?? [], signal);
    }
    return dropped;
  }

  async #dropDetached(names: readonly string[], signal?: AbortSignal): Promise<number> {
    let dropped = 0;
    for (const name of names) {
      const drop = async (tx: Tx): Promise<void> => {
        if (!((await this.partitions.find(tx))?.detached.includes(name) ?? false)) return;
        await this.partitions.drop(tx, name);
        afterCommit(tx, () => dropped++);
      };
      await this.#alone(drop, signal);
    }
    return dropped;
  }

  /** Parts whose time is over, the newest first: floors above it are above all. Last the rest, when it has anything and nothing in it is younger. */
  async #old({ partitions }: PartedLog, before: Date): Promise<string[]> {
    const old = partitions.flatMap(({ name, to }) => (to < before ? [name] : [])).reverse();
    const newest = await this.transactions.run((tx) => this.partitions.newest(tx, REST));
    return newest !== undefined && newest < before ? [...old, REST] : old;
  }

  async #isOver(tx: Tx, name: string, before: Date): Promise<boolean> {
    if (name !== REST) return (await this.partitions.find(tx))?.partitions.some((one) => one.name === name) ?? false;
    const newest = await this.partitions.newest(tx, REST);
    return newest !== undefined && newest < before;
  }

  /** Raises the floors above a part, some at a time; true when they have been there for long enough. */
  async #leave(name: string, before: Date, signal?: AbortSignal): Promise<boolean> {
    const streams = await this.transactions.run((tx) => this.partitions.above(tx, name, before));
    for (let n = 0; n < streams.length; n += FLOORS) {
      if (signal?.aborted === true) return false;
      await this.transactions.run(async (tx) => {
        for (const id of streams.slice(n, n + FLOORS)) await this.partitions.raiseFloor(tx, name, id, before);
      });
    }
    const since = this.#left.get(name);
    if (since === undefined || streams.length > 0) this.#left.set(name, performance.now());
    return performance.now() - this.#left.get(name)! >= this.graceMs;
  }

  /** In a transaction that gives way soon, again and again for some time; false when it has come to nothing. */
  async #alone(work: (tx: Tx) => Promise<void>, signal?: AbortSignal): Promise<boolean> {
    for (let n = 0; n < TRIES && signal?.aborted !== true; n++) {
      try {
        return await this.transactions.run(async (tx) => {
          const mine = await this.partitions.begin(tx);
          if (mine) await work(tx);
          return mine;
        });
      } catch (error) {
        if (!isBlocked(error)) throw error;
        await sleep(BETWEEN_MS, signal);
      }
    }
    return false;
  }
}

/** Another one has dropped the table meanwhile. */
function orGone(error: unknown): false {
  if (error instanceof Error && 'code' in error && error.code === '42P01') return false;
  throw error;
}
