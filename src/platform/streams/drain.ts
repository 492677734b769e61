import { sleep } from '../time/clock.js';

const FAILURES_IN_A_ROW = 20;
const PAUSE_MS = 50;
const MAX_PAUSE_MS = 500;

/** Reads round after round as long as something is left to read. Whoever asks meanwhile joins the rounds under way. */
export class Drain {
  #running: Promise<void> | undefined;

  constructor(
    private readonly left: () => boolean,
    private readonly round: () => Promise<void>,
    private readonly failed: (error: unknown) => void,
    private readonly stop: AbortSignal,
  ) {}

  /** Resolves when nothing is left, at the stop, or after many failures in a row: then the owner's poll begins again. */
  run(): Promise<void> {
    this.#running ??= this.#rounds().finally(() => (this.#running = undefined));
    return this.#running;
  }

  /** Resolves when no round is under way. */
  async settled(): Promise<void> {
    await this.#running;
  }

  async #rounds(): Promise<void> {
    let failures = 0;
    while (this.left() && !this.stop.aborted) {
      try {
        await this.round();
        failures = 0;
      } catch (error) {
        this.failed(error);
        if (++failures > FAILURES_IN_A_ROW) return;
        await sleep(Math.min(PAUSE_MS * failures, MAX_PAUSE_MS), this.stop);
      }
    }
  }
}
