/** Does things a few at a time, in the order in which they are asked for. */
export class Few {
  #busy = 0;
  readonly #line: (() => void)[] = [];

  constructor(private readonly atOnce: number) {}

  async run<T>(work: () => Promise<T>): Promise<T> {
    // Who leaves gives his place to the next one himself: nobody comes in between.
    if (this.#busy >= this.atOnce) await new Promise<void>((go) => this.#line.push(go));
    else this.#busy += 1;
    try {
      return await work();
    } finally {
      const next = this.#line.shift();
      if (next === undefined) this.#busy -= 1;
      else next();
    }
  }
}
