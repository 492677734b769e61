/** What the check finds, and the release can live with all the same. After a release what it says is no more. */
export interface Known {
  /** What the check says, from its beginning. */
  readonly fault: string;
  readonly why: string;
}

export const KNOWN: readonly Known[] = [
  {
    fault: 'function bead_event(text, text, text, beads) is gone',
    why: 'only claim_work called it; what the check finds is a function of the service of that name, beadEvent',
  },
];
