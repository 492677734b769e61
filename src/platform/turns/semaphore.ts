/** A counter of places: some wait for one, others take only as many as are free. */
export class Semaphore {
  #taken = 0;
  readonly #waiting: (() => void)[] = [];
  readonly #idle: (() => void)[] = [];

  constructor(private readonly limit: number) {}

  get free(): number {
    return Math.max(0, this.limit - this.#taken - this.#waiting.length);
  }

  /** Takes a place when there is one. Call the result once to give it back. */
  async enter(): Promise<() => void> {
    if (this.#taken >= this.limit) await new Promise<void>((resolve) => this.#waiting.push(resolve));
    else this.#taken++;
    return () => this.#release();
  }

  /** Takes a place at once, even beyond the limit. */
  take(): () => void {
    this.#taken++;
    return () => this.#release();
  }

  /** Resolves once no place is taken. */
  async idle(): Promise<void> {
    if (this.#taken > 0) await new Promise<void>((resolve) => this.#idle.push(resolve));
  }

  #release(): void {
    const next = this.#taken <= this.limit ? this.#waiting.shift() : undefined;
    if (next !== undefined) return next();
    this.#taken--;
    if (this.#taken === 0) for (const resolve of this.#idle.splice(0)) resolve();
  }
}
