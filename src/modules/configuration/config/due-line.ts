/**
 * Who is to be looked at again and again, each as seldom as the whole allows: so much work in a second, and a pause at the least. The first
 * of the line is the next, so that asking for it costs the same however long the line is.
 */
export class DueLine<T> {
  readonly #line = new Map<T, { readonly at: number; readonly work: number }>();
  #work = 0;

  constructor(
    private readonly pauseMs: number,
    private readonly workPerSecond: number,
  ) {}

  get size(): number {
    return this.#line.size;
  }

  /** At the end, also for one that is in it: its pause begins. */
  put(one: T, work: number, now: number): void {
    this.remove(one);
    this.#work += work;
    this.#line.set(one, { at: now + Math.max(this.pauseMs, (this.#work / this.workPerSecond) * 1_000), work });
  }

  remove(one: T): void {
    this.#work -= this.#line.get(one)?.work ?? 0;
    this.#line.delete(one);
  }

  /** The first, when its pause is over. */
  next(now: number): T | undefined {
    const first = this.#line.entries().next();
    if (first.done === true) return undefined;
    const [one, { at }] = first.value;
    return at <= now ? one : undefined;
  }
}
