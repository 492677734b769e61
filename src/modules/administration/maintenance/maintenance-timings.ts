import { LeaseTimings } from '../../sessions/launch/leased-work.js';

/** Cycles are many short statements that nobody waits for: a worker has few of them at once. */
export class MaintenanceTimings extends LeaseTimings {
  constructor(overrides: Partial<LeaseTimings> = {}) {
    super({ atOnce: 2, spared: 0, pollMs: 5_000, ...overrides });
  }
}
