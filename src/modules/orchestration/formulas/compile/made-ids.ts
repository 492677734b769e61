import type { Step } from './formula.js';

/** How an id goes on below the step that a run makes it for. */
const MADE = /\.(attempt\.|iteration\.|item\.|unit\.|iter)\d+(?=\.|$)/g;

/** The ids that a run gives to what it makes: it would take a step that has one already for what it has made. */
export class MadeIds {
  readonly #beginnings = new Set<string>();

  /** Keeps those that are made for a step. */
  reserve(full: string, { retry, check, onComplete, drain, loop }: Step): void {
    if (retry !== undefined) this.#beginnings.add(`${full}.attempt.`);
    if (check !== undefined) this.#beginnings.add(`${full}.iteration.`);
    if (onComplete !== undefined) this.#beginnings.add(`${full}.item.`);
    if (drain !== undefined) this.#beginnings.add(`${full}.unit.`);
    if (loop?.until !== undefined) this.#beginnings.add(`${full}.iter`);
  }

  /** The step for which a run may make something of this id. */
  makerOf(id: string): string | undefined {
    for (const { index, 1: word } of id.matchAll(MADE)) {
      const maker = id.slice(0, index);
      if (this.#beginnings.has(`${maker}.${word}`)) return maker;
    }
    return undefined;
  }
}
