import type { DueCondition, DuePoller } from '../../../platform/database/due-poller.js';
import { Lifecycle } from '../../../platform/health/lifecycle.js';
import { repeat } from '../../../platform/health/repeat.js';
import { AppLogger } from '../../../platform/logging/logger.js';
import { Signals } from '../../../platform/streams/signals.js';
import { AutoResetEvent } from '../../../platform/time/auto-reset-event.js';
import { atMost, sleep } from '../../../platform/time/clock.js';
import type { Places } from './places.js';

/** Times in milliseconds, so that tests can shorten them. */
export class LeaseTimings {
  /** How long a renewal holds, by the database's clock. */
  readonly leaseMs: number = 10_000;
  readonly renewMs: number = 2_000;
  /** Without a renewal for this long what runs is ended here. Less than the lease. */
  readonly holdMs: number = 8_000;
  readonly pollMs: number = 1_000;
  /** How much of it this process does at once; beside that, so much of cities that have none of it in work anywhere. */
  readonly atOnce: number = 16;
  readonly spared: number = 4;

  constructor(overrides: Partial<LeaseTimings> = {}) {
    Object.assign(this, overrides);
  }
}

/** It is rung long before that. */
const UNTOLD_MS = 60_000;

/** A piece of work that this process has a lease of. */
export interface Held<T> {
  readonly row: T;
  /** Aborted when the lease is lost, or this process stops. */
  readonly signal: AbortSignal;
  /** It is another's by now: what comes of it here counts no more. */
  readonly lost: boolean;
}

/** Where leased work comes from and what is done with it. */
export interface LeaseSource<T extends { readonly pk: number }> {
  /** As logs name it. */
  readonly name: string;
  /** What is heard when more of it waits. */
  readonly topic: string;
  /** Whether there may be something to claim. */
  readonly due: DueCondition;
  /** Takes as much as there are places for. */
  claim(places: Places): Promise<readonly T[]>;
  /** Answers which of these are this process's still. */
  renew(pks: readonly number[]): Promise<ReadonlySet<number>>;
  /** What fails is left: its lease runs out. */
  carryOut(held: Held<T>): Promise<void>;
}

interface Running<T> extends Held<T> {
  readonly stop: AbortController;
  renewedAt: number;
  lost: boolean;
}

/** Work of which a row says whose it is and until when: taken while there is room, renewed while it is done, ended when it is lost. */
export class LeasedWork<T extends { readonly pk: number }> {
  readonly #running = new Map<number, Running<T>>();
  /** Until each has ended; one that was taken again, also until it has ended under the lease before. */
  readonly #works = new Map<number, Promise<void>>();
  /** Rung when there may be more to take, or room for it: hints may get lost, looks are not. */
  readonly #woken = new AutoResetEvent();
  #renewing: Promise<void> | undefined;

  constructor(
    private readonly source: LeaseSource<T>,
    private readonly timings: LeaseTimings,
    private readonly log: AppLogger,
  ) {}

  get #places(): number {
    return this.timings.atOnce + this.timings.spared;
  }

  /** How much of it runs here. */
  get running(): number {
    return this.#running.size;
  }

  /** Begins to take work, until the process stops. */
  begin(signals: Signals, due: DuePoller, lifecycle: Lifecycle): void {
    const { name, topic } = this.source;
    const unlisten = signals.onTopics((topics) => {
      if (topics === 'all' || topics.has(topic)) this.#woken.set();
    });
    lifecycle.onStop('worker', `hints of ${name}`, unlisten);
    due.watch(this.timings.pollMs, this.source.due, () => this.#woken.set());
    repeat(lifecycle, this.log, { name, everyMs: 10, work: (signal) => this.#turn(signal) });
    repeat(lifecycle, this.log, { name: `leases of ${name}`, everyMs: this.timings.renewMs, work: () => this.#startRenewal() });
    lifecycle.onStop('worker', `running ${name}`, () => this.stop());
  }

  /** Ends what runs. */
  async stop(): Promise<void> {
    for (const { stop } of this.#running.values()) stop.abort();
    await this.idle();
  }

  /** When all that was taken has ended. */
  async idle(): Promise<void> {
    await Promise.allSettled(this.#works.values());
  }

  /** Takes as much as there is room for. Answers how much. */
  async take(): Promise<number> {
    const open = Math.max(0, this.timings.atOnce - this.#running.size);
    const room = this.#places - this.#running.size;
    if (room <= 0) return 0;
    const sentAt = performance.now();
    const taken = await this.source.claim({ room, open });
    for (const row of taken) this.#begin(row, sentAt);
    return taken.length;
  }

  /** Tells what has come of it as long as the lease lasts, whatever the database says at first. */
  async persist(held: Held<T>, write: () => Promise<unknown>): Promise<void> {
    for (let wait = 100; !held.lost; wait *= 2) {
      try {
        await write();
        return;
      } catch (error) {
        if (wait > this.timings.holdMs) throw error;
        await sleep(wait);
      }
    }
  }

  /** The lease has begun at some time after its claim was sent, and not when the answer came. */
  #begin(row: T, claimedAt: number): void {
    const { pk } = row;
    // After an outage this process may get again what it has lost and not ended yet.
    const former = this.#running.get(pk);
    if (former !== undefined) this.#lose(former);
    if (this.#isOver(claimedAt)) return;
    const stop = new AbortController();
    const running: Running<T> = { row, stop, signal: stop.signal, renewedAt: claimedAt, lost: false };
    this.#running.set(pk, running);
    const work = this.#carryOut(running, this.#works.get(pk)).finally(() => {
      if (this.#running.get(pk) !== running) return;
      this.#running.delete(pk);
      this.#works.delete(pk);
      this.#woken.set();
    });
    this.#works.set(pk, work);
  }

  async #carryOut(running: Running<T>, before: Promise<void> | undefined): Promise<void> {
    await before;
    if (running.lost) return;
    try {
      await this.source.carryOut(running);
    } catch (error) {
      this.log.warn({ err: error, pk: running.row.pk, work: this.source.name }, 'leased work was not carried out to its end');
    }
  }

  async #turn(signal: AbortSignal): Promise<void> {
    if (this.#running.size >= this.#places) this.#woken.reset();
    await this.#woken.waitFor(UNTOLD_MS, signal);
    if (!signal.aborted) await this.take();
  }

  #startRenewal(): Promise<void> {
    // One that hangs must not keep this from being seen.
    this.#renewing ??= this.#renew().finally(() => (this.#renewing = undefined));
    for (const running of this.#running.values()) if (this.#isOver(running.renewedAt)) this.#lose(running);
    return atMost(this.timings.renewMs, this.#renewing);
  }

  async #renew(): Promise<void> {
    const sentAt = performance.now();
    const asked = [...this.#running];
    if (asked.length === 0) return;
    const held = await this.source.renew(asked.map(([pk]) => pk));
    for (const [pk, running] of asked) {
      // What has ended meanwhile is not lost, and what was taken meanwhile was not asked about.
      if (this.#running.get(pk) !== running) continue;
      if (held.has(pk)) running.renewedAt = sentAt;
      else this.#lose(running);
    }
  }

  #isOver(renewedAt: number): boolean {
    return performance.now() - renewedAt > this.timings.holdMs;
  }

  #lose(running: Running<T>): void {
    if (running.lost) return;
    running.lost = true;
    this.log.warn({ pk: running.row.pk, work: this.source.name }, 'a lease is lost; what ran under it is ended');
    running.stop.abort();
  }
}
