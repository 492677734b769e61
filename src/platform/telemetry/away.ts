import type { AppLogger } from '../logging/logger.js';

const QUIET_MS = 60_000;

/** Says that what is sent does not arrive: once a minute, however often it fails. */
export class Away {
  #saidAt = -Infinity;
  #unsaid = 0;

  constructor(
    private readonly log: AppLogger,
    private readonly now = (): number => performance.now(),
  ) {}

  readonly say = (what: unknown): void => {
    this.#unsaid++;
    if (this.now() - this.#saidAt < QUIET_MS) return;
    this.#saidAt = this.now();
    this.log.warn({ error: reason(what), times: this.#unsaid }, 'telemetry does not arrive, and some of it is lost');
    this.#unsaid = 0;
  };
}

function reason(what: unknown): string {
  const { message, code } = (typeof what === 'object' && what !== null ? what : { message: what }) as { message?: unknown; code?: unknown };
  return [code, message]
    .filter((part) => typeof part === 'string' || typeof part === 'number')
    .join(' ')
    .slice(0, 300);
}
