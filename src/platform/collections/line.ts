const FIRST_PLACES = 16;

/** A queue whose items may leave from the middle. It keeps nothing of an item that is gone; `Slots` says why a `Set` does. */
export class Line<T> {
  /** A ring: the ticket of an item, modulo its length, is its place. */
  #items: (T | undefined)[] = [];
  #head = 0;
  #tail = 0;
  #size = 0;

  get size(): number {
    return this.#size;
  }

  /** Returns the item's ticket, with which it can leave. */
  push(item: T): number {
    if (this.#tail - this.#head === this.#items.length) this.#grow();
    this.#items[this.#tail % this.#items.length] = item;
    this.#size++;
    return this.#tail++;
  }

  /** Takes the first one out. */
  shift(): T | undefined {
    while (this.#head < this.#tail) {
      const item = this.#take(this.#head++);
      if (item !== undefined) return item;
    }
    return undefined;
  }

  /** False when it is not in line any more. */
  leave(ticket: number): boolean {
    return ticket >= this.#head && this.#take(ticket) !== undefined;
  }

  #take(ticket: number): T | undefined {
    const at = ticket % this.#items.length;
    const item = this.#items[at];
    if (item === undefined) return undefined;
    this.#items[at] = undefined;
    this.#size--;
    return item;
  }

  #grow(): void {
    const waiting = this.#items.length;
    // Most queues never have an item, so they begin without places.
    const items = new Array<T | undefined>(Math.max(FIRST_PLACES, 2 * waiting)).fill(undefined);
    for (let ticket = this.#head; ticket < this.#tail; ticket++) items[ticket % items.length] = this.#items[ticket % waiting];
    this.#items = items;
  }
}
