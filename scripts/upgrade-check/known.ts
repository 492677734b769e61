/** What the check finds, and the release can live with all the same. After a release what it says is no more. */
export interface Known {
  /** What the check says, from its beginning. */
  readonly fault: string;
  readonly why: string;
}

export const KNOWN: readonly Known[] = [
  {
    fault: '0158_index_ended_holders_concurrently: update sessions s set holds_more',
    why: 'it is a statement of its own, of closed sessions to which something is assigned still: nobody changes these but who removes them',
  },
  {
    fault: 'function bead_event(text, text, text, beads) is gone',
    why: 'only claim_work called it; what the check finds is a function of the service of that name, beadEvent',
  },
  {
    fault: 'src/platform/database/database.ts:139: follow_log_server comes back as int4 and not void',
    why: 'it is asked for what it does, and nobody reads what comes back',
  },
];
