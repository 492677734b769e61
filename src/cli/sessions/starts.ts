import type { Schemas } from '../api.js';
import type { Progress } from '../cities/progress.js';
import { showDuration } from '../duration.js';
import type { Waiting } from '../ending.js';
import { harmlessLine } from '../harmless.js';
import { restLine, type Rest } from './rest.js';

type Failed = Schemas['SessionStartFailedPayload'];

const FAILED = 'session.start_failed';
const SLOW = 'session.start_slow';
const CRASHED = 'session.crashed';
const QUARANTINED = 'session.quarantined';

/** `attempt 2 of 5 failed: sh ended before it was ready; the next one at 10:05:03Z (2.0s)`. */
function failedStartLine({ attempt, attempts, retry_at: at }: Failed, why: string, now = Date.now()): string {
  const which = attempt === undefined ? '' : ` ${attempt}${attempts === undefined ? '' : ` of ${attempts}`}`;
  const next = at === undefined ? '' : `; the next one at ${at.slice(11, 19)}Z (${showDuration(Math.max(0, Date.parse(at) - now))})`;
  return `attempt${which} failed: ${harmlessLine(why)}${next}`;
}

/** `this command has not spoken ACP for 10 s: it has printed nothing so far; given up at 10:05:03Z (49s)`. */
export function startLine({ until, detail }: Schemas['SessionStart'], now = Date.now()): string {
  const limit = `given up at ${until.slice(11, 19)}Z (${showDuration(Math.max(0, Date.parse(until) - now))})`;
  return detail === undefined ? `${limit} at the latest` : `${harmlessLine(detail)}; ${limit}`;
}

/** `crashed: killed by SIGKILL; rests until 10:05:03Z (2.0s), crashed; ended by a changed configuration, svc session wake al-7`. */
function endLine(how: string, session: string, why: string | undefined, rest: Rest | undefined): string {
  const said = why === undefined ? '' : `: ${harmlessLine(why)}`;
  return `${how}${said}${rest === undefined ? '' : `; ${restLine(rest, session)}`}`;
}

/**
 * Tells somebody who waits for a session of a start that takes long, of each one that fails and is tried again, and of each end of its
 * process until it rests. The last start that fails is told by the end of the request, with the same words.
 */
export function tellStarts(session: string | undefined, progress: Progress): Pick<Waiting, 'steps'> {
  if (session === undefined) return {};
  const seen: NonNullable<Waiting['steps']>['seen'] = ({ type, payload, message }) => {
    if (type === SLOW) {
      const { until } = payload as Schemas['SessionStartSlowPayload'];
      return progress.tell(startLine({ until, ...(message === undefined ? {} : { detail: message }) }));
    }
    if (type === CRASHED || type === QUARANTINED) {
      const now = (payload as Schemas['SessionStatePayload']).session;
      // Both are of one change then, and the other one says what follows.
      const follows = type === CRASHED && now?.state === 'quarantined' ? undefined : now?.rest;
      return progress.tell(endLine(type === CRASHED ? 'crashed' : 'quarantined', session, message, follows));
    }
    const failed = payload as Failed;
    if (failed.retry_at !== undefined) progress.tell(failedStartLine(failed, message ?? failed.reason ?? 'for an unknown reason'));
  };
  return { steps: { types: [FAILED, SLOW, CRASHED, QUARANTINED], subject: session, seen } };
}
