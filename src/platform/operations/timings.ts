import { doubled } from '../time/doubled.js';

/** The operations room's times and limits. Provided once an application; a test gives shorter ones. */
export class OperationTimings {
  /** How long a claim holds without being renewed. */
  readonly leaseMs: number = 15_000;
  readonly renewMs: number = 5_000;
  /** How often a worker process looks for work that the queue did not bring. */
  readonly sweepMs: number = 1_000;
  /** How long a fresh operation is left to the queue before the sweeper takes it. */
  readonly pickupMs: number = 1_500;
  /** Operations running at once in a worker process. */
  readonly concurrency: number = 8;
  /** Of these, those of one city; half of them unless said. */
  readonly perCity: number;
  /** How long a handler has to end by itself when the process stops; then its operation goes back. */
  readonly graceMs: number = 1_500;
  /** Pause before the second attempt; doubles with every further one up to `backoffMaxMs`. */
  readonly backoffMs: number = 1_000;
  readonly backoffMaxMs: number = 30_000;
  readonly purgeMs: number = 60_000;
  readonly keepFinishedMs: number = 7 * 24 * 3_600_000;

  constructor(overrides: Partial<OperationTimings> = {}) {
    Object.assign(this, overrides);
    this.perCity = overrides.perCity ?? Math.ceil(this.concurrency / 2);
    Object.freeze(this);
  }

  backoff(attempt: number): number {
    const full = doubled(attempt, this.backoffMs, this.backoffMaxMs);
    return Math.round(full * (0.75 + Math.random() / 2));
  }
}
