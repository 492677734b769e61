const BURST_BYTES = 1024 * 1024;
const BYTES_A_SECOND = 16 * 1024;

/**
 * How much of what an agent says between turns is stored at once, and in the long run. A turn ends by itself; a program that prints
 * all day would fill the database.
 */
export class Allowance {
  #left = BURST_BYTES;
  #at: number;

  /** @param now milliseconds that never go back. */
  constructor(private readonly now: () => number = () => performance.now()) {
    this.#at = now();
  }

  /** It may be overdrawn: the next one waits longer then. */
  take(bytes: number): void {
    this.#refill();
    this.#left -= bytes;
  }

  /** Milliseconds until something may be taken. */
  get waitMs(): number {
    this.#refill();
    return this.#left > 0 ? 0 : Math.ceil(((1 - this.#left) * 1_000) / BYTES_A_SECOND);
  }

  #refill(): void {
    const now = this.now();
    this.#left = Math.min(BURST_BYTES, this.#left + ((now - this.#at) / 1_000) * BYTES_A_SECOND);
    this.#at = now;
  }
}
