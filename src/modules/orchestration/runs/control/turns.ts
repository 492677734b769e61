import { Heap } from '../../formulas/compile/order.js';

/**
 * Whom to look at next, each by its place: first all of them, then those about which something has changed since. One that comes later is
 * looked at on the same way through, one that has been passed on the next.
 */
export class Turns {
  #now: Heap;
  #next: number[] = [];
  readonly #marked: Set<number>;
  #at = -1;

  constructor(count: number) {
    const all = Array.from({ length: count }, (_, n) => n);
    this.#now = new Heap(all);
    this.#marked = new Set(all);
  }

  mark(place: number): void {
    if (this.#marked.has(place)) return;
    this.#marked.add(place);
    if (place > this.#at) this.#now.put(place);
    else this.#next.push(place);
  }

  take(): number | undefined {
    let place = this.#now.take();
    if (place === undefined) {
      this.#now = new Heap(this.#next);
      this.#next = [];
      place = this.#now.take();
    }
    this.#at = place ?? -1;
    if (place !== undefined) this.#marked.delete(place);
    return place;
  }
}
