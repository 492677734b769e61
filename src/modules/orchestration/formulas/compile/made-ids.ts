import type { Step } from './formula.js';

/** How an id goes on below the step that a run makes it for. */
const MADE = /\.(attempt\.|iteration\.|item\.|unit\.|iter)(\d+)(?=\.|$)/g;

/** What a run makes for a step: how often, and whether as steps below what has the number, where that is certain. */
interface Making {
  readonly max: number;
  readonly below?: boolean;
}

/** The ids that a run gives to what it makes: it would take a step that has one already for what it has made. */
export class MadeIds {
  readonly #makings = new Map<string, Making>();

  /** Keeps those that are made for a step. */
  reserve(full: string, { retry, check, onComplete, drain, loop, children }: Step): void {
    if (retry !== undefined) this.#makings.set(`${full}.attempt.`, { max: retry.max_attempts, below: false });
    if (check !== undefined) this.#makings.set(`${full}.iteration.`, { max: check.max_attempts, below: children.length > 0 });
    if (onComplete !== undefined) this.#makings.set(`${full}.item.`, { max: Infinity });
    if (drain !== undefined) this.#makings.set(`${full}.unit.`, { max: Infinity, below: true });
    if (loop?.until !== undefined) this.#makings.set(`${full}.iter`, { max: loop.max!, below: true });
  }

  /** The step for which a run may make something of this id. */
  makerOf(id: string): string | undefined {
    for (const { 0: made, index, 1: word, 2: number } of id.matchAll(MADE)) {
      const maker = id.slice(0, index);
      const making = this.#makings.get(`${maker}.${word}`);
      const isBelow = index + made.length < id.length;
      if (making !== undefined && isBelow === (making.below ?? isBelow) && Number(number) <= making.max) return maker;
    }
    return undefined;
  }
}
