/** Objects that are kept before idle ones are dropped for the first time. */
const FEW = 64;

/**
 * Objects by name, each made when its name is first asked for. Idle ones are dropped together, once there are twice as many objects as were in use the last time.
 * Dropping each as it became idle, and making it anew with the next request, was a twentieth of what a request allocated; `Slots` says what that does to
 * the table.
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

  /** The object of this name, made if there is none. It may be dropped until its caller has made it busy. */
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
