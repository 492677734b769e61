import { ConvoyClosed } from '../../contract/events/convoys.events.js';
import { event } from '../../platform/event-log/event.js';
import { completedWith, countMembers, isConvoyCompleted } from './convoy-members.js';
import type { ClosedReaction, RemovedReaction, Work } from './work.js';

const COMPLETED = 'convoy autoclose: all children closed';

/**
 * Closes the convoys whose last open member has just been closed, and theirs in turn. Whichever way a convoy is closed
 * (its own operations, those of beads, by itself), it comes by here: this is the only place that reports it.
 */
export const closeConvoys: ClosedReaction = async (work, closed) => {
  if (closed.issue_type === 'convoy') {
    const reason = closed.metadata.close_reason;
    const counts = await countMembers(work.tx, work.city.streamId, closed.id);
    const payload = { ...counts, ...(reason === undefined ? {} : { reason }) };
    work.emit(event(ConvoyClosed, { ...work.facts(closed), message: closed.title, payload }));
  }
  for (const id of await completedWith(work.tx, work.city.streamId, closed.id)) await work.close(id, COMPLETED);
};

/** Closes the convoys whose last open member has just been removed for good. */
export const closeBereftConvoys: RemovedReaction = async (work, removed, dependents) => {
  if (removed.status === 'closed') return;
  const ids = new Set(dependents.filter((edge) => edge.type === 'tracks').map((edge) => edge.issue_id));
  if (removed.parent !== null) ids.add(removed.parent);
  for (const id of [...ids].sort()) await closeIfCompleted(work, id);
};

/** Closes a convoy that has lost its last open member; false when it still waits for something, or for its owner. */
export async function closeIfCompleted(work: Work, id: string): Promise<boolean> {
  if (!(await isConvoyCompleted(work.tx, work.city.streamId, id))) return false;
  await work.close(id, COMPLETED);
  return true;
}
