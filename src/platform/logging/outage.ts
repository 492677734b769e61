import type { AppLogger } from './logger.js';

/**
 * What the log says of something that is done every few seconds and may fail for long: its first failure, and once that it works again.
 * A line for each would hide, in an outage of the database, the one that says what is wrong.
 */
export class Outage {
  #failing = false;

  /** @param again what is said when it works again */
  constructor(
    private readonly log: Pick<AppLogger, 'warn' | 'info'>,
    private readonly again: string,
  ) {}

  failed(error: unknown, line: string, more: Record<string, unknown> = {}): void {
    if (!this.#failing) this.log.warn({ err: error, ...more }, line);
    this.#failing = true;
  }

  worked(more: Record<string, unknown> = {}): void {
    if (this.#failing) this.log.info(more, this.again);
    this.#failing = false;
  }
}
