import { sleep } from '../../../platform/time/clock.js';
import { inStep } from '../../../platform/time/ticks.js';
import { preparing } from '../../../platform/turns/preparing.js';

/**
 * Does something whenever it is asked to, and every `everyMs` anyway as long as `needed` says so, never twice at once. A failure does not
 * end it. What it asks of the database is the same each time and is planned once, also what is begun by it and goes on.
 */
export class Poller {
  readonly #stop = new AbortController();
  #asked = new AbortController();
  #awaited: (() => void)[] = [];
  #loop: Promise<void> | undefined;

  constructor(
    private readonly everyMs: number,
    private readonly work: () => Promise<unknown>,
    private readonly failed: (error: unknown) => void,
    private readonly needed: () => boolean = () => true,
  ) {}

  start(): void {
    this.#loop ??= this.#run();
  }

  /** Once more, at once; with a turn in progress right after it. */
  ask(): void {
    this.#asked.abort();
  }

  /** Asks, and resolves when a turn that began after that is over. */
  turn(): Promise<void> {
    return new Promise((resolve) => {
      this.#awaited.push(resolve);
      this.ask();
    });
  }

  async stop(): Promise<void> {
    this.#stop.abort();
    await this.#loop;
  }

  async #run(): Promise<void> {
    const { signal } = this.#stop;
    while (!signal.aborted) {
      this.#asked = new AbortController();
      const awaited = this.#awaited.splice(0);
      await preparing(this.work).catch(this.failed);
      for (const over of awaited) over();
      const asked = this.#asked.signal;
      const until = AbortSignal.any([signal, asked]);
      do await sleep(inStep(this.everyMs), until);
      while (!until.aborted && !this.needed());
    }
  }
}
