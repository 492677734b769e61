import type { Clock } from '../../../platform/time/clock.js';
import type { RunnerTimings } from './runner-timings.js';

/**
 * One registration of a runner and how long it may act under it, by this process's own monotonic clock: counted from
 * before each renewal was sent, it always ends before the database's. Ask it right before every write.
 */
export class RunnerLease {
  readonly #end = new AbortController();
  #renewedAt: number;

  constructor(
    readonly id: string,
    private readonly clock: Clock,
    private readonly timings: RunnerTimings,
    sentAt: number,
  ) {
    this.#renewedAt = sentAt;
  }

  /** Aborts when the lease is lost: everything that runs under it ends, and nothing is recorded any more. */
  get signal(): AbortSignal {
    return this.#end.signal;
  }

  /** May take new sessions. */
  get accepts(): boolean {
    return !this.signal.aborted && this.#age() < this.timings.acceptMs;
  }

  /** May write and act for its sessions. */
  get held(): boolean {
    return !this.signal.aborted && this.#age() < this.timings.holdMs;
  }

  renewed(sentAt: number): void {
    this.#renewedAt = Math.max(this.#renewedAt, sentAt);
  }

  lose(): void {
    this.#end.abort();
  }

  #age(): number {
    return this.clock.monotonic() - this.#renewedAt;
  }
}
