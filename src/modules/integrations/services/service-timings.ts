import { LeaseTimings } from '../../sessions/launch/leased-work.js';

/** Times in milliseconds, and how much of it; tests shorten them. */
export class ServiceTimings extends LeaseTimings {
  /** How many services this process has at once; beside them, so many of cities of which it has few. */
  override readonly atOnce: number = 48;
  override readonly spared: number = 16;
  readonly few: number = 4;
  readonly syncMs: number = 500;
  /** Until a new process has to be ready. */
  readonly readyMs: number = 30_000;
  /** Between two looks at one that is not ready yet. */
  readonly lookMs: number = 50;
  readonly healthMs: number = 5_000;
  readonly healthTimeoutMs: number = 2_000;
  /** Looks in a row that fail until it counts as degraded, and until its process begins anew. */
  readonly unhealthyAfter: number = 3;
  readonly restartAfter: number = 12;
  /** Before a process is begun again: twice as long with each failure, and from the start once it was ready for as long as that. */
  readonly backoffMs: number = 1_000;
  readonly maxBackoffMs: number = 60_000;
  readonly stableMs: number = 60_000;
  /** For the connections of a process that is about to end. */
  readonly drainMs: number = 1_000;

  constructor(overrides: Partial<ServiceTimings> = {}) {
    super();
    Object.assign(this, overrides);
  }
}
