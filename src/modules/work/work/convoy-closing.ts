import { ConvoyClosed } from '../../../contract/events/convoys.events.js';
import { problem } from '../../../contract/problems.js';
import { event } from '../../../platform/event-log/event.js';
import { BLOCKING } from './bead-record.js';
import { completedOf, countMembers, isConvoyCompleted } from './convoy-members.js';
import { whyNotBecome } from './held.js';
import type { ChangedReaction, ClosedReaction, DependentsReaction, FreedReaction, RemovedReaction, Work } from './work.js';

const COMPLETED = 'convoy autoclose: all children closed';
const BEREFT = 'convoy autoclose: its bead was removed';

/** Whichever way a convoy is closed (its own operations, those of beads, by itself), it comes by here: this is the only place that reports it. */
export const tellClosedConvoy: ClosedReaction = async (work, closed) => {
  if (closed.issue_type !== 'convoy') return;
  const reason = closed.metadata.close_reason;
  const counts = await countMembers(work.tx, work.city.streamId, closed.id);
  const payload = { ...counts, ...(reason === undefined ? {} : { reason }) };
  work.emit(event(ConvoyClosed, { ...work.facts(closed), message: closed.title, payload }));
};

/** Closes the convoys whose last open member has been closed, and theirs in turn; and those that waited, as steps of a run, for nothing else any more. */
export const closeConvoys: DependentsReaction = async (work, closed, dependents) => {
  const ids = dependents.filter((edge) => edge.type === 'tracks').map((edge) => edge.issue_id);
  if (closed.parent !== null) ids.push(closed.parent);
  ids.push(...(await stepsAmong(work, dependents)));
  if (ids.length === 0) return;
  const completed = await completedOf(work.tx, work.city.streamId, ids);
  work.completing(completed.length);
  for (const id of completed) await work.complete(id, COMPLETED);
};

/** Closes the convoys that have just lost, for good, the last open member or the last that they waited for as a step of a run, and the one that was made to follow it and follows nothing now. */
export const closeEmptiedConvoys: RemovedReaction = async (work, removed, dependents) => {
  if (removed.status === 'closed') return;
  const ids = new Set(dependents.filter((edge) => edge.type === 'tracks').map((edge) => edge.issue_id));
  if (removed.parent !== null) ids.add(removed.parent);
  for (const id of await stepsAmong(work, dependents)) ids.add(id);
  for (const id of [...ids].sort()) {
    if (await closeIfCompleted(work, id)) continue;
    const convoy = await work.find(id);
    if (convoy?.sling_source === removed.id && convoy.status !== 'closed' && !convoy.labels.includes('owned') && (await isEmpty(work, id)))
      await work.close(id, BEREFT);
  }
};

/** Convoys that are steps of runs, of those that waited for a bead and wait for nothing more. */
async function stepsAmong(work: Work, dependents: Parameters<DependentsReaction>[2]): Promise<string[]> {
  const blocked = dependents.filter((edge) => BLOCKING.includes(edge.type)).map((edge) => edge.issue_id);
  const beads = await work.findAll(blocked);
  return beads.filter((bead) => bead.issue_type === 'convoy' && bead.run_id !== null && bead.open_blockers === 0).map(({ id }) => id);
}

async function isEmpty(work: Work, id: string): Promise<boolean> {
  return (await countMembers(work.tx, work.city.streamId, id)).total === 0;
}

/** Closes the convoy whose last open child has got another parent, and one with nothing left to wait for that its owner lets go. */
export const closeLeftConvoys: ChangedReaction = async (work, before, after) => {
  if (before.parent !== null && before.parent !== after.parent && before.status !== 'closed') await closeIfCompleted(work, before.parent);
  if (before.labels.includes('owned') && !after.labels.includes('owned')) await closeIfCompleted(work, after.id);
};

/** Closes a convoy that is a step of a run, and to which an edge less leaves nothing to wait for. */
export const closeUnblockedStep: FreedReaction = async (work, { id, issue_type: type, run_id: run }) => {
  if (type === 'convoy' && run !== null) await closeIfCompleted(work, id);
};

/** Closes a convoy that has lost its last open member; false when it still waits for something, or for its owner. @throws ProblemError forbidden for a session that may not close it itself */
export async function closeIfCompleted(work: Work, id: string): Promise<boolean> {
  if (!(await isConvoyCompleted(work.tx, work.city.streamId, id))) return false;
  const why = work.session && (await whyNotBecome(work.session, work, await work.require(id), 'closed'));
  if (why !== undefined) throw problem('forbidden', `convoy ${id} would be completed by it: ${why}`);
  await work.complete(id, COMPLETED);
  return true;
}
