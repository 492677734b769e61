import { sleep } from '../time/clock.js';

/** After more failures than this in a row it gives up, until it is run again. */
const FAILURES_IN_A_ROW = 20;
/** Pause after the first failure; it grows with each. */
const PAUSE_MS = 50;
const MAX_PAUSE_MS = 500;
const CATCH_UP_LIMIT_MS = 5_000;
const LOOK_AGAIN_MS = 100;

/** Runs rounds of reading as long as something is left to read. Callers share the rounds under way. */
export class Drain {
  #running: Promise<void> | undefined;
  #awaited: (() => void)[] = [];

  constructor(
    private readonly left: () => boolean,
    private readonly round: () => Promise<void>,
    private readonly failed: (error: unknown) => void,
    private readonly stop: AbortSignal,
  ) {}

  /** Resolves when nothing is left, at the stop, or after many failures in a row: then the owner's poll begins again. */
  run(): Promise<void> {
    if (this.#running === undefined && this.#goesOn) this.#running = this.#rounds();
    return this.#running ?? Promise.resolve();
  }

  /** Runs rounds until `reached`; false when that takes too long. `look` is called before each round, and notes what is still to be read. */
  async until(reached: () => boolean, look: () => void): Promise<boolean> {
    const deadline = performance.now() + CATCH_UP_LIMIT_MS;
    while (!reached()) {
      if (performance.now() > deadline) return false;
      const round = new Promise<void>((resolve) => this.#awaited.push(resolve));
      look();
      void this.run();
      await Promise.race([round, sleep(LOOK_AGAIN_MS)]);
    }
    return true;
  }

  /** Resolves when no round is under way. */
  async settled(): Promise<void> {
    await this.#running;
  }

  get #goesOn(): boolean {
    return this.left() && !this.stop.aborted;
  }

  async #rounds(): Promise<void> {
    let failures = 0;
    while (this.#goesOn && failures <= FAILURES_IN_A_ROW) {
      try {
        await this.round();
        failures = 0;
        for (const over of this.#awaited.splice(0)) over();
      } catch (error) {
        this.failed(error);
        if (++failures <= FAILURES_IN_A_ROW) await sleep(Math.min(PAUSE_MS * failures, MAX_PAUSE_MS), this.stop);
      }
    }
    // At once after the last look: a caller that came later would join rounds that have ended.
    this.#running = undefined;
  }
}
