/** Columns that say how something is. */
const STATES = new Set(['STATE', 'STATUS', 'OUTCOME', 'HEALTH', 'RESULT']);

const GOOD =
  /^(active|running|ready|healthy|ok|live|up|idle|working|in-turn|in_progress|enabled|done|pass(ed)?|success|succeeded|delivered|answered|sent|created|slung)$/;
const WAITING =
  /^(asks:?|start-pending|creating|starting|start|pending|queued|in_flight|blocked|drain(s|ing)|suspend(ed|s)|paused|deferred|waiting|waits|stopping|canceling|held|retrying|unread|rests,?)$/;
const BAD =
  /^(bad|crashed|fail|failed\S*|\S+[-_]failed|error\S*|quarantined?|lost|dead|gone|down|unhealthy|degraded|expired|unconfirmed|circuit-open|auth-required|provider-terminal-error|context-churn|refused|rejected|timed_out|timeout|unavailable|invalid|stuck)$/;

const COLOURS = { good: '32', waiting: '33', bad: '31' } as const;
type Kind = keyof typeof COLOURS;

/** Whether somebody should look at what is in this state; undefined for one that is as it should be and does nothing. */
export function kindOf(state: string): Kind | undefined {
  // What a session asks is said in words of others.
  const words = state.replace(/(\basks):.*/s, '$1').split(/[\s,()]+/);
  if (words.some((word) => BAD.test(word))) return 'bad';
  if (words.some((word) => WAITING.test(word))) return 'waiting';
  return words.some((word) => GOOD.test(word)) ? 'good' : undefined;
}

/** A cell below this header in the colour of its state. @param state the whole of it, where the cell is cut */
export function coloured(header: string, cell: string, state = cell): string {
  const kind = STATES.has(header) ? kindOf(state) : undefined;
  return kind === undefined ? cell : `\u001b[${COLOURS[kind]}m${cell}\u001b[0m`;
}
