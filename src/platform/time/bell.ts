import { sleep } from './clock.js';

/** Wakes one waiter. Rung while nobody waits, it lets the next one pass. */
export class Bell {
  #rung = false;
  #waiting: (() => void) | undefined;

  ring(): void {
    this.#rung = true;
    this.#waiting?.();
  }

  /** What was rung until now counts no more. */
  hush(): void {
    this.#rung = false;
  }

  /** Until it is rung. */
  async heard(): Promise<void> {
    if (!this.#rung) await new Promise<void>((resolve) => (this.#waiting = resolve));
    this.#over();
  }

  /** The same, for `ms` at the most, or until `signal` aborts. */
  async heardWithin(ms: number, signal: AbortSignal): Promise<void> {
    const rung = new AbortController();
    this.#waiting = () => rung.abort();
    if (!this.#rung) await sleep(ms, AbortSignal.any([signal, rung.signal]));
    this.#over();
  }

  #over(): void {
    this.#waiting = undefined;
    this.#rung = false;
  }
}
