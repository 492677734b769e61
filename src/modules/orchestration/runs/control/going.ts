import type { Work } from '../../../work/work/work.js';

/** What a transaction has to do with runs. */
export interface Going {
  /** Runs that are looked at already: what is done for them leads back here. */
  readonly busy: Set<string>;
  /** Those with which another transaction goes on: however often this one comes back to them, it begins nothing more. */
  readonly later: Set<string>;
  /** When it came to the first of them. */
  readonly since: number;
}

/** The same, by transaction. */
export class Goings {
  readonly #all = new WeakMap<Work, Going>();

  of(work: Work): Going {
    const known = this.#all.get(work) ?? { busy: new Set(), later: new Set(), since: performance.now() };
    this.#all.set(work, known);
    return known;
  }

  /** Whether the transaction looks at the run just now. */
  isBusy(work: Work, run: string): boolean {
    return this.#all.get(work)?.busy.has(run) === true;
  }
}
