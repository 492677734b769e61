/** How much one formula may take to compile, with everything that it is made of. Beyond any of them it is refused. */
export const LIMITS = {
  /** Files that one formula is made of: itself, parents, expansions, aspects. */
  formulas: 64,
  /** Characters of these files. */
  sources: 1024 * 1024,
  /** Parents of parents. */
  extends: 16,
  /** Expansions inside expansions. */
  expansions: 5,
  /** Steps of a recipe, those that a run may repeat counted once. */
  steps: 2_000,
  /** Copies of steps on their way into a recipe, and characters of these: an expansion may be expanded again. */
  copies: 20_000,
  copied: 16 * 1024 * 1024,
  /** Edges of a recipe. */
  edges: 20_000,
  /** Characters of all texts of a recipe, the ids of its edges among them: an answer has each twice at the most. */
  characters: 1024 * 1024,
  /** Characters that values add to one text. */
  text: 256 * 1024,
  /** Rounds of one loop. */
  rounds: 1_000,
  /** Milliseconds that a round of a check, or its script, may be given: timers hold no more than 24 days. */
  attempt: 24 * 24 * 3_600_000,
  /** Characters of an id that an author writes, and of one in a recipe. */
  id: 128,
  fullId: 400,
  /** Comparisons of globs with ids, in characters of both. */
  globs: 20_000_000,
  /** Characters matched with patterns, times what the patterns consist of. */
  matching: 5_000_000,
  vars: 200,
  /** Characters of a value of a variable, and of all. */
  value: 16 * 1024,
  values: 256 * 1024,
  /** Characters of a range or a condition. */
  expression: 500,
  /** Issues that are told. */
  issues: 100,
} as const;

/**
 * What is done where it is asked for, on the event loop, for one request: some 20 ms at the most. Whatever takes more is done in a thread,
 * within `LIMITS`.
 */
export const SMALL: Readonly<Record<keyof typeof WORDS, number>> = {
  formulas: 64,
  sources: 16 * 1024,
  steps: 100,
  copies: 500,
  copied: 128 * 1024,
  edges: 1_000,
  characters: 64 * 1024,
  globs: 100_000,
  matching: 20_000,
};

/** Compiling takes more than any formula needs; the message is for the formula's author. */
export class TooMuch extends Error {}

/** It takes more than may be done here. */
export class Outgrown extends Error {}

const WORDS = {
  formulas: 'files',
  sources: 'characters in its files',
  steps: 'steps',
  copies: 'copies of steps',
  copied: 'characters in copies of steps',
  edges: 'dependencies',
  characters: 'characters',
  globs: 'comparisons of globs with steps',
  matching: 'comparisons of patterns with values',
} as const;

/** What one compiling may still use up. */
export class Budget {
  readonly #left: Record<keyof typeof WORDS, number>;

  constructor(private readonly isSmall = false) {
    this.#left = { ...(isSmall ? SMALL : LIMITS) };
  }

  /** @throws TooMuch; Outgrown when there is more of it elsewhere */
  spend(what: keyof typeof WORDS, amount = 1): void {
    this.#left[what] -= amount;
    if (this.#left[what] >= 0) return;
    if (this.isSmall) throw new Outgrown(what);
    throw new TooMuch(`the formula takes more than ${LIMITS[what]} ${WORDS[what]}`);
  }
}
