import type { Signalled } from '../../../platform/streams/signals.js';

/** Hints may get lost: so often all cities are asked about. */
const ALL_EVERY_MS = 10_000;
/** So many are asked about at once, and beyond so many it is cheaper to ask about all. */
export const ASKED = 50;
const MANY = 2_000;

/** The cities whose event logs have moved since one follower has asked. */
export class MovedCities {
  #names = new Set<string>();
  #allAt = -Infinity;

  add(names: Signalled): void {
    if (names === 'all') this.#allAt = -Infinity;
    else for (const name of names) this.#names.add(name);
    if (this.#names.size > MANY) this.#allAt = -Infinity;
  }

  /** Those to ask about now. */
  take(now = performance.now()): readonly string[] | 'all' {
    if (now - this.#allAt >= ALL_EVERY_MS) {
      this.#allAt = now;
      this.#names = new Set();
      return 'all';
    }
    const names: string[] = [];
    for (const name of this.#names) {
      if (names.length === ASKED) break;
      names.push(name);
      this.#names.delete(name);
    }
    return names;
  }
}
