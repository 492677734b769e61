/** What the check finds, and the release can live with all the same. After a release what it says is no more. */
export interface Known {
  /** What the check says, from its beginning. */
  readonly fault: string;
  readonly why: string;
}

export const KNOWN: readonly Known[] = [];
