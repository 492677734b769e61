import { problem } from '../../../../contract/problems.js';
import { requireItsName } from '../../../sessions/session-names/by-name.js';
import type { SessionRow } from '../../../sessions/session-store/session-row.js';

/** Who is meant: one session, or the session of a configured name, whichever that is when it is needed. */
export interface Target {
  /** Null for an agent. */
  readonly sessionPk: number | null;
  readonly sessionId: string;
  readonly sessionName: string;
  /** '' for a session. */
  readonly agentName: string;
}

export const ofSession = ({ pk, id, session_name }: Pick<SessionRow, 'pk' | 'id' | 'session_name'>): Target => ({
  sessionPk: pk,
  sessionId: id,
  sessionName: session_name,
  agentName: '',
});

export const ofAgent = (agentName: string): Target => ({ sessionPk: null, sessionId: '', sessionName: '', agentName });

/** Of a session that a text means. @throws ProblemError session_not_found for one that has ended; whoever looks by its name with `byName` looks again */
export function requireOpen(row: Pick<SessionRow, 'id' | 'state'>, text: string): void {
  requireItsName(row, text);
  if (row.state === 'closed') throw problem('session_not_found', `session ${text} is closed`);
}

/** What memberships call it. */
export const selectorOf = ({ sessionId, agentName }: Pick<Target, 'sessionId' | 'agentName'>): string => agentName || sessionId;

export function isSame(a: Target, b: { readonly session_pk: number | null; readonly agent_name: string }): boolean {
  return a.sessionPk === b.session_pk && a.agentName === b.agent_name;
}
