import { sleep } from '../time/clock.js';

const FAILURES_IN_A_ROW = 20;
const PAUSE_MS = 50;
const MAX_PAUSE_MS = 500;
const CATCH_UP_LIMIT_MS = 5_000;
const LOOK_AGAIN_MS = 100;

/** Reads round after round as long as something is left to read. Whoever asks meanwhile joins the rounds under way. */
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
    this.#running ??= this.#rounds().finally(() => (this.#running = undefined));
    return this.#running;
  }

  /** Goes on until something is reached; false when that takes too long. `look` says before each round what is still to be read. */
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

  async #rounds(): Promise<void> {
    let failures = 0;
    while (this.left() && !this.stop.aborted) {
      try {
        await this.round();
        failures = 0;
        for (const over of this.#awaited.splice(0)) over();
      } catch (error) {
        this.failed(error);
        if (++failures > FAILURES_IN_A_ROW) return;
        await sleep(Math.min(PAUSE_MS * failures, MAX_PAUSE_MS), this.stop);
      }
    }
  }
}
