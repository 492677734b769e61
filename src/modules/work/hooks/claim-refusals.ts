import { problem } from '../../../contract/problems.js';
import { whyDrained } from '../work/held.js';
import type { Refused } from './claims.repository.js';

/** Says to a claimant why it cannot have a bead, with what it needs to know to go on. */
export function claimRefused(id: string, { outcome, result }: Refused): Error {
  const { owner, blockers, defer_until: until, issue_type: type, workable, labels } = result;
  if (outcome === 'owned' && owner !== null) return ownedByOther(id, owner);
  if (outcome === 'closed') {
    const errors = owner === null ? undefined : [{ message: 'the last owner', location: 'body.assignee', value: owner }];
    return problem('wrong_state', `bead ${id} is closed${owner === null ? '' : `; its last owner is ${owner}`}`, { errors });
  }
  const drained = outcome === 'drained' ? whyDrained({ id, labels: [...labels] }) : undefined;
  if (drained !== undefined) return problem('forbidden', drained);
  if (!workable)
    return notReady(id, `is not offered as work (type ${type})`, [{ message: 'is not work', location: 'path.id', value: type }]);
  if (blockers.length > 0)
    return notReady(
      id,
      `is blocked by ${blockers.join(', ')}`,
      blockers.map((blocker) => ({ message: 'is blocked by', location: 'path.id', value: blocker })),
    );
  if (until === null)
    return notReady(id, 'has yet to be told that what blocked it is closed, in a fan-out', [
      { message: 'waits for a fan-out', location: 'path.id', value: id },
    ]);
  return notReady(id, `is deferred until ${until}`, [{ message: 'is deferred until', location: 'path.id', value: until }]);
}

/** Somebody else has the bead, or has had it since. */
function ownedByOther(id: string, owner: string): Error {
  return problem('owned_by_other', `bead ${id} is owned by ${owner}`, {
    errors: [{ message: 'is not the current owner', location: 'body.assignee', value: owner }],
  });
}

/** Why a claim that was thought to hold does not. */
export function claimLost(
  id: string,
  standing: { readonly status: string; readonly assignee: string | null; readonly claim_fence: number },
  isOwner: boolean,
): Error {
  const { status, assignee, claim_fence: fence } = standing;
  if (assignee !== null && !isOwner) return ownedByOther(id, assignee);
  if (status !== 'in_progress' || assignee === null)
    return problem('owned_by_other', `bead ${id} is no longer claimed (status: ${status})`, {
      errors: [{ message: 'is not the current owner', location: 'body.assignee', value: assignee }],
    });
  return problem('owned_by_other', `bead ${id} has been claimed anew by ${assignee}; its fence is ${fence}`, {
    errors: [{ message: 'is not the current fence', location: 'body.fence', value: fence }],
  });
}

function notReady(id: string, why: string, errors: { message: string; location: string; value: unknown }[]): Error {
  return problem('conflict', `bead ${id} ${why}; force takes it all the same`, { errors });
}
