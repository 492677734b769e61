/** So many there may be before it is looked whether they are needed. */
const FEW = 64;

/**
 * What is made when its name comes up, and dropped some time after it has become idle: all that are idle at once, when there are twice as many
 * as were needed the last time. To drop each as it becomes idle, and make it anew with the next request, was a twentieth of what a request
 * allocated, and `Slots` says what that does to the table.
 */
export class ByName<T extends { readonly isIdle: boolean }> {
  readonly #all = new Map<string, T>();
  #most = FEW;

  constructor(private readonly make: (name: string) => T) {}

  get size(): number {
    return this.#all.size;
  }

  get(name: string): T | undefined {
    return this.#all.get(name);
  }

  /** Idle until its caller does something with it. */
  of(name: string): T {
    const known = this.#all.get(name);
    if (known !== undefined) return known;
    if (this.#all.size >= this.#most) this.#drop();
    const made = this.make(name);
    this.#all.set(name, made);
    return made;
  }

  #drop(): void {
    for (const [name, one] of this.#all) if (one.isIdle) this.#all.delete(name);
    this.#most = Math.max(FEW, 2 * this.#all.size);
  }
}
