import { sleep } from './clock.js';

/** Wakes one waiter. Set while nobody waits, it lets the next one pass. */
export class AutoResetEvent {
  #set = false;
  #waiting: (() => void) | undefined;

  set(): void {
    this.#set = true;
    this.#waiting?.();
  }

  /** What was set until now counts no more. */
  reset(): void {
    this.#set = false;
  }

  /** Until it is set. */
  async wait(): Promise<void> {
    if (!this.#set) await new Promise<void>((resolve) => (this.#waiting = resolve));
    this.#over();
  }

  /** The same, for `ms` at the most, or until `signal` aborts. */
  async waitFor(ms: number, signal: AbortSignal): Promise<void> {
    const woken = new AbortController();
    this.#waiting = () => woken.abort();
    if (!this.#set) await sleep(ms, AbortSignal.any([signal, woken.signal]));
    this.#over();
  }

  #over(): void {
    this.#waiting = undefined;
    this.#set = false;
  }
}
