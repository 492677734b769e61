import { Injectable } from '@nestjs/common';
import { Transactions, type Tx } from '../database/transactions.js';
import { isBlocked } from '../database/pg-errors.js';
import { sleep } from '../time/clock.js';
import { EventPartitions, REST, type PartedLog, type Span } from './partitions.js';

const HOUR_MS = 3_600_000;
/** What is kept for less is so little that its rows are deleted. */
const LEAST_MS = 24 * HOUR_MS;
/** Parts that together are as long as events are kept: it is by one of them that an event may be kept for longer. */
const PARTS = 4;
/** A rest of so many bytes is looked through while its lock is held; a larger one before. */
const SMALL_BYTES = 16 * 1024 * 1024;
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
  /** Since when nothing of a part is above a floor, as far as this process has seen. */
  readonly #left = new Map<string, number>();

  constructor(
    private readonly transactions: Transactions,
    private readonly partitions: EventPartitions,
  ) {}

  /** Makes the parts that come next, and drops those that are too old. Answers how many, and from when on events are in parts. */
  async round(keptMs: number | undefined, signal?: AbortSignal): Promise<{ dropped: number; since: Date | undefined }> {
    let log = await this.transactions.run((tx) => this.partitions.find(tx));
    if (log?.keepsFree === true) await this.#alone((tx) => this.partitions.keepFreeNoMore(tx), signal);
    if (keptMs !== undefined && keptMs >= LEAST_MS) log = await this.#ahead(log, keptMs / PARTS, signal);
    if (log === undefined) return { dropped: 0, since: undefined };
    const since = log.partitions[0]?.from;
    return { dropped: keptMs === undefined ? 0 : await this.#drop(log, Date.now() - keptMs, signal), since };
  }

  /** There is always one more than is written to. The first begins later: until then events go where they always went. */
  async #ahead(found: PartedLog | undefined, widthMs: number, signal?: AbortSignal): Promise<PartedLog | undefined> {
    let log = found;
    if (log === undefined) {
      await this.#alone((tx) => this.partitions.part(tx), signal);
      log = await this.transactions.run((tx) => this.partitions.find(tx));
    }
    for (let n = 0; n < 2 && log !== undefined; n++) {
      const last = log.partitions.at(-1)?.to.getTime() ?? 0;
      if (last > Date.now() + widthMs) break;
      const from = Math.max(last, Math.ceil((Date.now() + (log.restBytes > SMALL_BYTES ? widthMs : HOUR_MS)) / HOUR_MS) * HOUR_MS);
      await this.#add(log, { from: new Date(from), to: new Date(from + Math.ceil(widthMs / HOUR_MS) * HOUR_MS) }, signal);
      log = await this.transactions.run((tx) => this.partitions.find(tx));
    }
    return log;
  }

  async #add({ restBytes }: PartedLog, span: Span, signal?: AbortSignal): Promise<void> {
    const large = restBytes > SMALL_BYTES;
    if (large) {
      if (!(await this.#alone((tx) => this.partitions.keepFree(tx, span), signal))) return;
      if (!(await this.#alone((tx) => this.partitions.checkFree(tx), signal))) return;
    }
    const add = async (tx: Tx): Promise<void> => {
      await this.partitions.add(tx, span);
      if (large) await this.partitions.keepFreeNoMore(tx);
    };
    if (await this.#alone(add, signal)) await this.#alone((tx) => this.partitions.analyze(tx), signal);
  }

  async #drop(log: PartedLog, before: number, signal?: AbortSignal): Promise<number> {
    for (const name of log.detached) await this.#alone((tx) => this.partitions.drop(tx, name), signal);
    let dropped = 0;
    for (const name of await this.#old(log, before)) {
      if (signal?.aborted === true || !(await this.#leave(name, signal))) continue;
      const at = new Date();
      const detach = (tx: Tx): Promise<void> => (name === REST ? this.partitions.detachRest(tx, at) : this.partitions.detach(tx, name));
      const detached = await this.#alone(async (tx) => {
        // Whoever had a turn in between may have dropped it.
        if ((await this.#isThere(tx, name)) && (await this.partitions.above(tx, name)).length === 0) await detach(tx);
      }, signal);
      if (!detached) continue;
      this.#left.delete(name);
      const now = await this.transactions.run((tx) => this.partitions.find(tx));
      for (const gone of now?.detached ?? []) if (await this.#alone((tx) => this.partitions.drop(tx, gone), signal)) dropped++;
    }
    return dropped;
  }

  /** Parts whose time is over; the rest when nothing in it is younger, and it has anything. */
  async #old({ partitions }: PartedLog, before: number): Promise<string[]> {
    const old = partitions.filter(({ to }) => to.getTime() < before).map(({ name }) => name);
    const newest = await this.transactions.run((tx) => this.partitions.newest(tx, REST));
    return newest !== undefined && newest.getTime() < before ? [REST, ...old] : old;
  }

  async #isThere(tx: Tx, name: string): Promise<boolean> {
    return name === REST || ((await this.partitions.find(tx))?.partitions.some((one) => one.name === name) ?? false);
  }

  /** Raises the floors above a part, some at a time; true when they have been there for long enough. */
  async #leave(name: string, signal?: AbortSignal): Promise<boolean> {
    const streams = await this.transactions.run((tx) => this.partitions.above(tx, name));
    for (let n = 0; n < streams.length; n += FLOORS) {
      if (signal?.aborted === true) return false;
      await this.transactions.run(async (tx) => {
        for (const id of streams.slice(n, n + FLOORS)) await this.partitions.raiseFloor(tx, name, id);
      });
    }
    const since = this.#left.get(name);
    if (since === undefined || streams.length > 0) this.#left.set(name, Date.now());
    return Date.now() - this.#left.get(name)! >= this.graceMs;
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
