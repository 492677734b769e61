import { TRANSIENT } from './follow.js';
import { ApiProblem, ConnectionError } from './problems.js';
import { sleep } from './sleep.js';

/** How a turn has ended. */
export interface TurnEnd {
  /**
   * What the agent says (`end_turn`), `failed`, or `lost` with its process. Undefined where the service does not say it; with `isCutOff`
   * where nobody could say it, as after the session was deleted.
   */
  readonly stopReason: string | undefined;
  /**
   * It was ended before the agent was done, by somebody or by a failure, or may have been, for nobody knows: what the agent has said so
   * far is half an answer.
   */
  readonly isCutOff: boolean;
}

const CUT_OFF: ReadonlySet<string | undefined> = new Set(['cancelled', 'failed', 'lost']);
const UNKNOWN: TurnEnd = { stopReason: undefined, isCutOff: true };
const POLL_MS = 2_000;
/** What was said is held back no longer than this for how it has ended. */
const LONGEST_MS = 30_000;

/**
 * How the turn has ended: that the session is idle again says its stream alike of one that is done and of one that was killed. Never fails, for
 * what was said would be lost with it: where nobody says it, or the signal aborts before, it is not known.
 */
export async function endOf(
  record: (signal: AbortSignal) => Promise<{ readonly stop_reason?: string }>,
  caller: AbortSignal | undefined,
): Promise<TurnEnd> {
  const late = new AbortController();
  const timer = setTimeout(() => late.abort(), LONGEST_MS);
  const signal = AbortSignal.any([late.signal, ...(caller === undefined ? [] : [caller])]);
  try {
    while (!signal.aborted) {
      try {
        const { stop_reason: stopReason } = await record(signal);
        return { stopReason, isCutOff: CUT_OFF.has(stopReason) };
      } catch (error) {
        const passes = error instanceof ConnectionError || (error instanceof ApiProblem && TRANSIENT.has(error.status));
        if (!passes) return UNKNOWN;
        await sleep(POLL_MS, signal);
      }
    }
    return UNKNOWN;
  } finally {
    clearTimeout(timer);
  }
}
