import { Injectable } from '@nestjs/common';
import { afterCommit, Transactions, type Tx } from '../database/transactions.js';
import { isBlocked } from '../database/pg-errors.js';
import { sleep } from '../time/clock.js';
import { EventPartitions, REST, type PartitionedLog, type Span } from './partitions.js';

const HOUR_MS = 3_600_000;
/** Events that are kept for less time are few: their rows are deleted instead. */
const MIN_RETENTION_MS = 24 * HOUR_MS;
/** Partitions that cover the retention time. An event may be kept longer than that by the width of one of them. */
const PARTITIONS_KEPT = 4;
/** Floors that are raised in one transaction: the writers of these streams wait for all of them. */
const FLOORS_AT_ONCE = 50;
/** Tries to lock the log, while a long read has it. */
const LOCK_TRIES = 50;
const RETRY_MS = 400;

/**
 * Partitions the log by time where events have a retention time: makes partitions ahead and drops old ones. The floors are raised first. A partition is
 * dropped once every statement that has seen the floors before must have ended.
 */
@Injectable()
export class PartitionRotation {
  /** Longer than any statement may take. Tests have 0. */
  graceMs = 60_000;
  /** A default partition of at most so many bytes is read under the lock of `add`; a larger one is reserved and read before. */
  smallBytes = 16 * 1024 * 1024;
  /** When this process has first seen that a partition has nothing above a floor, by its monotonic clock. */
  readonly #retiredAt = new Map<string, number>();

  constructor(
    private readonly transactions: Transactions,
    private readonly partitions: EventPartitions,
  ) {}

  /**
   * Makes the next partitions and drops those that are too old. It goes by the clock of the database, which gave the events their times: a worker with a wrong
   * clock would drop events too early.
   *
   * @returns how many were dropped, and from when on events are dropped with their partitions. Where a partition is wider than the retention time, as this was
   *   longer before, that is undefined: all events are then dropped one by one.
   */
  async round(keptMs: number | undefined, signal?: AbortSignal): Promise<{ dropped: number; since: Date | undefined }> {
    const now = (await this.transactions.run((tx) => this.partitions.now(tx))).getTime();
    let log = await this.transactions.run((tx) => this.partitions.find(tx));
    if (log?.hasReservedSpan === true) await this.#exclusively((tx) => this.partitions.release(tx), signal);
    if (keptMs !== undefined && keptMs >= MIN_RETENTION_MS) log = await this.#createAhead(log, now, keptMs / PARTITIONS_KEPT, signal);
    if (log === undefined) return { dropped: 0, since: undefined };
    const isWide = log.partitions.some(({ from, to }) => keptMs !== undefined && to.getTime() - from.getTime() > keptMs);
    const since = isWide ? undefined : log.partitions[0]?.from;
    return { dropped: keptMs === undefined ? 0 : await this.#drop(log, new Date(now - keptMs), signal), since };
  }

  /** Keeps one partition ahead of the one that is written to. The first begins some time from now: until then events go into the default partition. */
  async #createAhead(
    found: PartitionedLog | undefined,
    now: number,
    widthMs: number,
    signal?: AbortSignal,
  ): Promise<PartitionedLog | undefined> {
    let log = found;
    if (log === undefined) {
      await this.#exclusively(async (tx) => {
        if ((await this.partitions.find(tx)) === undefined) await this.partitions.partition(tx);
      }, signal);
      log = await this.transactions.run((tx) => this.partitions.find(tx));
    }
    for (let n = 0; n < 2 && log !== undefined; n++) {
      const last = log.partitions.at(-1)?.to.getTime() ?? 0;
      if (last > now + widthMs) break;
      const from = Math.max(last, Math.ceil((now + (log.restBytes > this.smallBytes ? widthMs : HOUR_MS)) / HOUR_MS) * HOUR_MS);
      await this.#add(log, await this.#freeSpan(from, Math.ceil(widthMs / HOUR_MS) * HOUR_MS), signal);
      log = await this.transactions.run((tx) => this.partitions.find(tx));
    }
    return log;
  }

  /**
   * The first span from a time on in which the default partition has no events. It gets events of a later time while the clock of the database is ahead, and
   * their streams go on at that time once the clock is right. A partition of that time could not be attached, and reserving it would stop these streams.
   */
  async #freeSpan(from: number, lengthMs: number): Promise<Span> {
    const span = { from: new Date(from), to: new Date(from + lengthMs) };
    const newest = await this.transactions.run((tx) => this.partitions.newest(tx, REST, span));
    return newest === undefined ? span : this.#freeSpan((Math.floor(newest.getTime() / HOUR_MS) + 1) * HOUR_MS, lengthMs);
  }

  async #add(log: PartitionedLog, span: Span, signal?: AbortSignal): Promise<void> {
    const large = log.restBytes > this.smallBytes;
    let added = false;
    try {
      added = await this.#tryAdd(large, span, signal);
    } finally {
      // A reserved span without a partition would refuse events once its time has come. So it is released also when the worker stops.
      if (large && !added) await this.#exclusively((tx) => this.partitions.release(tx));
    }
    if (added) await this.#exclusively((tx) => this.partitions.analyze(tx), signal);
  }

  async #tryAdd(large: boolean, span: Span, signal?: AbortSignal): Promise<boolean> {
    if (large) {
      const reserve = async (tx: Tx): Promise<void> => {
        await this.partitions.release(tx);
        await this.partitions.reserve(tx, span);
      };
      if (!(await this.#exclusively(reserve, signal))) return false;
      if (!(await this.#exclusively((tx) => this.partitions.validateReserved(tx), signal))) return false;
    }
    const add = async (tx: Tx): Promise<void> => {
      const log = await this.partitions.find(tx);
      // Another process has released the span: `add` would read the whole default partition under its lock.
      if (log === undefined || (large && !log.hasReservedSpan)) return;
      const there = log.partitions;
      if (!there.some(({ from, to }) => from < span.to && to > span.from)) await this.partitions.add(tx, span);
      if (large) await this.partitions.release(tx);
    };
    return this.#exclusively(add, signal);
  }

  async #drop(log: PartitionedLog, before: Date, signal?: AbortSignal): Promise<number> {
    let dropped = await this.#dropDetached(log.detached, signal);
    for (const name of await this.#outdated(log, before)) {
      if (signal?.aborted === true || !(await this.#retire(name, before, signal).catch(falseIfGone))) continue;
      const at = new Date();
      const detach = (tx: Tx): Promise<void> => (name === REST ? this.partitions.detachRest(tx, at) : this.partitions.detach(tx, name));
      const detached = await this.#exclusively(async (tx) => {
        // Events of now may go into the default partition: keep writers out until it is replaced.
        if (name === REST) await this.partitions.lock(tx);
        // Another process may have dropped it since, or an event may have been written.
        if (!(await this.#isOutdated(tx, name, before)) || (await this.partitions.streamsAboveFloor(tx, name, before)).length > 0) return;
        await detach(tx);
      }, signal);
      if (!detached) continue;
      this.#retiredAt.delete(name);
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
      await this.#exclusively(drop, signal);
    }
    return dropped;
  }

  /**
   * Partitions whose time is over, the newest first: floors above that are above the others as well. The default partition comes last, if it has events and
   * all of them are old.
   */
  async #outdated({ partitions }: PartitionedLog, before: Date): Promise<string[]> {
    const old = partitions.flatMap(({ name, to }) => (to < before ? [name] : [])).reverse();
    const newest = await this.transactions.run((tx) => this.partitions.newest(tx, REST));
    return newest !== undefined && newest < before ? [...old, REST] : old;
  }

  async #isOutdated(tx: Tx, name: string, before: Date): Promise<boolean> {
    if (name !== REST) return (await this.partitions.find(tx))?.partitions.some((one) => one.name === name) ?? false;
    const newest = await this.partitions.newest(tx, REST);
    return newest !== undefined && newest < before;
  }

  /** Raises the floors above a partition, some at a time; true when they have been there for the grace time. */
  async #retire(name: string, before: Date, signal?: AbortSignal): Promise<boolean> {
    const streams = await this.transactions.run((tx) => this.partitions.streamsAboveFloor(tx, name, before));
    for (let n = 0; n < streams.length; n += FLOORS_AT_ONCE) {
      if (signal?.aborted === true) return false;
      await this.transactions.run(async (tx) => {
        for (const id of streams.slice(n, n + FLOORS_AT_ONCE)) await this.partitions.raiseFloor(tx, name, id, before);
      });
    }
    const since = this.#retiredAt.get(name);
    if (since === undefined || streams.length > 0) this.#retiredAt.set(name, performance.now());
    return performance.now() - this.#retiredAt.get(name)! >= this.graceMs;
  }

  /**
   * Runs `work` in a transaction that does not wait long for its locks, and tries again for some time where others have them; false when it could
   * not be done, and at once while another process rotates.
   */
  async #exclusively(work: (tx: Tx) => Promise<void>, signal?: AbortSignal): Promise<boolean> {
    for (let n = 0; n < LOCK_TRIES && signal?.aborted !== true; n++) {
      try {
        return await this.transactions.run(async (tx) => {
          const mine = await this.partitions.begin(tx);
          if (mine) await work(tx);
          return mine;
        });
      } catch (error) {
        if (!isBlocked(error)) throw error;
        await sleep(RETRY_MS, signal);
      }
    }
    return false;
  }
}

/** Another process has dropped the table meanwhile. */
function falseIfGone(error: unknown): false {
  if (error instanceof Error && 'code' in error && error.code === '42P01') return false;
  throw error;
}
