/** Names that were added lately: for a time, and so many at the most. The oldest are forgotten first. */
export class RecentNames {
  /** When, the last at the end. */
  readonly #at = new Map<string, number>();

  constructor(
    private readonly limits: { readonly ms: number; readonly names: number },
    private readonly now: () => number = () => performance.now(),
  ) {}

  add(name: string): void {
    this.#at.delete(name);
    this.#at.set(name, this.now());
    if (this.#at.size > this.limits.names) this.#at.delete(this.#at.keys().next().value!);
  }

  has(name: string): boolean {
    return this.now() - (this.#at.get(name) ?? -Infinity) < this.limits.ms;
  }

  delete(name: string): void {
    this.#at.delete(name);
  }
}
