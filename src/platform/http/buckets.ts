import type { Rate } from '../config/config.js';

/** So many names are remembered, and as many from before: who calls is not forgotten, however many others there are. */
const REMEMBERED = 10_000;

/** Buckets by name, in the memory of this process. A bucket is one number, the time at which it will be full again. */
export class Buckets {
  // Not one map in the order of use: a key that is deleted and set again and again makes its look-ups slow (25 µs).
  #recent = new Map<string, number>();
  #before = new Map<string, number>();

  constructor(private readonly now: () => number = () => performance.now()) {}

  /** Takes one out. 0, or how many milliseconds it takes until there is one. */
  take(name: string, { perSecond, burst }: Rate): number {
    if (perSecond === 0) return 0;
    const now = this.now();
    const fullAt = this.#fullAt(name, now) + 1_000 / perSecond;
    const waitMs = fullAt - now - (1_000 * burst) / perSecond;
    if (waitMs > 0) return waitMs;
    this.#remember(name, fullAt);
    return 0;
  }

  /** Takes one also where there is none, and gives none until that is made up for. It never owes more than it holds. */
  owe(name: string, { perSecond, burst }: Rate): void {
    if (perSecond === 0) return;
    const now = this.now();
    this.#remember(name, Math.min(this.#fullAt(name, now) + 1_000 / perSecond, now + (2_000 * burst) / perSecond));
  }

  /** Gives one back that was taken. */
  put(name: string, { perSecond }: Rate): void {
    if (perSecond > 0) this.#remember(name, this.#fullAt(name, -Infinity) - 1_000 / perSecond);
  }

  #fullAt(name: string, now: number): number {
    return Math.max(this.#recent.get(name) ?? this.#before.get(name) ?? now, now);
  }

  #remember(name: string, fullAt: number): void {
    this.#recent.set(name, fullAt);
    if (this.#recent.size > REMEMBERED) {
      this.#before = this.#recent;
      this.#recent = new Map();
    }
  }
}
