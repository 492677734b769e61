import type { NamedSessions } from '../../sessions/session-names/named-sessions.service.js';
import type { SessionChanges } from '../../sessions/session-store/session-changes.js';
import type { SessionRow } from '../../sessions/session-store/session-row.js';
import type { Ending, PoolDecision, PoolSession } from './pool-facts.js';

/**
 * Locks all that a plan changes before the first of it is changed: the end of a session locks conversations and gives up names, which
 * whoever has another of these sessions may want, or whoever makes a session.
 */
export async function lockPlanned(changes: SessionChanges, named: NamedSessions, decisions: readonly PoolDecision[]): Promise<void> {
  const identities = decisions.flatMap((one) => (one.do === 'materialize' ? [one.identity] : []));
  const bearers = await named.bearers(changes, identities);
  const closed = decisions.flatMap((one) => (one.do === 'close' ? [one.pk] : []));
  await changes.lockAll([...decisions.flatMap((one) => ('pk' in one ? [one.pk] : [])), ...bearers], [...closed, ...bearers]);
  if (decisions.some(makesSession)) await changes.lockNames();
}

function makesSession(one: PoolDecision): boolean {
  return one.do === 'create' || one.do === 'materialize' || (one.do === 'close' && givesName(one.code));
}

/** Whether the next session of its name may be made with the end of one. */
export function givesName(code: Ending): boolean {
  return code === 'reconfigured';
}

/** Whether nothing has happened to it that the plan did not know of. */
export function isAsPlanned(row: SessionRow, planned: PoolSession): boolean {
  return (
    row.state === planned.state &&
    row.generation === planned.generation &&
    row.stop_request === planned.stop &&
    row.wake_request === planned.wake &&
    (row.runner_id !== null) === planned.hasRunner &&
    row.live === planned.live &&
    row.accepted_hash === planned.acceptedHash
  );
}
