/**
 * What comes and goes with every request, in no order. A `Set` or `Map` makes a new table each time its old one is full of what was deleted;
 * the old tables of one that lives long are freed by collections of everything only, and until then they keep what was in them, with all that
 * it leads to. Measured with forwarded requests: 8 % of what they allocated was kept so, and 0.2 % with places that are used again.
 */
export class Slots<T> implements Iterable<T> {
  readonly #items: (T | undefined)[] = [];
  readonly #free: number[] = [];

  get size(): number {
    return this.#items.length - this.#free.length;
  }

  /** Answers its place, by which it is removed: once. */
  add(item: T): number {
    const at = this.#free.pop() ?? this.#items.length;
    this.#items[at] = item;
    return at;
  }

  remove(at: number): void {
    this.#items[at] = undefined;
    this.#free.push(at);
  }

  /** What is added or removed meanwhile may be met or not. */
  *[Symbol.iterator](): Iterator<T> {
    for (const item of this.#items) if (item !== undefined) yield item;
  }
}
