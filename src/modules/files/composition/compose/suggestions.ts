import { nearest } from '../../../../contract/nearest.js';

/** Names times characters that are compared in one composing, some 30 ms: a city may have thousands of formulas, and as many orders that name none of them. */
const COMPARED = 160_000;
/** Of short words half would do for any other. */
const SHORT = 4;

/** Finds what somebody meant who has written a name that there is not. */
export class Suggestions {
  #left = COMPARED;

  /** The name that was meant, whatever its case; undefined where none is near, or enough was compared. */
  meant(word: string, names: readonly string[]): string | undefined {
    if ((this.#left -= names.length * word.length) < 0) return undefined;
    const lowered = word.toLowerCase();
    const same = names.find((name) => name.length === word.length && name !== word && name.toLowerCase() === lowered);
    return same ?? (word.length < SHORT ? undefined : nearest(word, names));
  }

  /** The same as the end of a sentence, which may be nothing. */
  of(word: string, names: readonly string[]): string {
    const meant = this.meant(word, names);
    return meant === undefined ? '' : `; did you mean ${meant}?`;
  }
}
