import type { Gauge } from 'prom-client';
import type { Metrics } from '../health/metrics.js';
import type { AppLogger } from '../logging/logger.js';

/** As `svc doctor` has it for the client's. */
const APART_S = 5;

/** Whether the clock of this process is that of the database, which all go by. The ends of keys and certificates, and the log, go by its own. */
export class ProcessClock {
  readonly #offset: Gauge<string>;
  #told = false;

  constructor(
    metrics: Pick<Metrics, 'gauge'>,
    private readonly log: Pick<AppLogger, 'warn' | 'info'>,
  ) {
    this.#offset = metrics.gauge({
      name: 'svc_clock_ahead_seconds',
      help: 'How far the clock of this process is ahead of the clock of the database; below 0 where it is behind.',
    });
  }

  /**
   * @param theirs what the database said
   * @param asked when it was asked, by this clock
   * @param answered when it had answered; it said it in between
   */
  compare(theirs: Date, asked: number, answered: number): void {
    // As near to what it said as it may have been: an answer that took long says little.
    const nearest = Math.min(Math.max(theirs.getTime(), asked), answered);
    const ahead = (nearest - theirs.getTime()) / 1_000;
    this.#offset.set(ahead);
    const wrong = Math.abs(ahead) > APART_S;
    if (wrong && !this.#told)
      this.log.warn(
        { ahead_s: ahead },
        'the clock of this host is not that of the database: ends of keys and certificates, and times of this log, are off',
      );
    else if (!wrong && this.#told) this.log.info({ ahead_s: ahead }, 'the clock of this host is that of the database again');
    this.#told = wrong;
  }
}
