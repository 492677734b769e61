/**
 * Connects again and again until it is closed. One connection and all it takes from there is `once`, which says how many
 * milliseconds to stay away after it.
 */
export class Wanderer {
  #closing = false;
  #settled = false;
  #abort: (() => void) | undefined;
  #wake: (() => void) | undefined;
  readonly #done: Promise<void>;

  constructor(once: (wanderer: Wanderer) => Promise<number>) {
    this.#done = this.#live(once);
  }

  /** It leaves no connection by itself any more. */
  get settled(): boolean {
    return this.#settled;
  }

  /** From now on it stays where it is. */
  settle(): void {
    this.#settled = true;
    this.#wake?.();
  }

  async close(): Promise<void> {
    this.#closing = true;
    this.#wake?.();
    this.#abort?.();
    await this.#done;
  }

  /** How the connection of the moment is broken off; undefined when there is none. */
  onAbort(abort: (() => void) | undefined): void {
    this.#abort = abort;
  }

  /** Leaves the connection of the moment after so long, unless it is settled. */
  leaveAfter(ms: () => number, leave: () => void): void {
    this.#abort = leave;
    if (this.#settled) return;
    const timer = setTimeout(leave, ms());
    this.#wake = () => clearTimeout(timer);
  }

  async #live(once: (wanderer: Wanderer) => Promise<number>): Promise<void> {
    await Promise.resolve(); // whoever makes it is not complete yet
    while (!this.#closing) {
      const ms = await once(this);
      if (!this.#closing) await this.#pause(ms);
    }
  }

  #pause(ms: number): Promise<void> {
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, ms);
      this.#wake = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  }
}
