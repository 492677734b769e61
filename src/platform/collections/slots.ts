/**
 * An unordered collection for items that come and go with every request. A long-lived `Set` or `Map` makes a new table each time its old one is full of deleted
 * entries. The old tables are freed by full garbage collections only, and until then they keep their entries and all that these refer to.
 * Measured with forwarded requests: 8 % of their allocations were kept so, and 0.2 % with slots that are reused.
 */
export class Slots<T> implements Iterable<T> {
  readonly #items: (T | undefined)[] = [];
  readonly #free: number[] = [];

  get size(): number {
    return this.#items.length - this.#free.length;
  }

  /** Returns the item's place, for removing it once. */
  add(item: T): number {
    const at = this.#free.pop() ?? this.#items.length;
    this.#items[at] = item;
    return at;
  }

  remove(at: number): void {
    this.#items[at] = undefined;
    this.#free.push(at);
  }

  /** Items that are added or removed meanwhile may be visited or not. */
  *[Symbol.iterator](): Iterator<T> {
    for (const item of this.#items) if (item !== undefined) yield item;
  }
}
