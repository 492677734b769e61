import type { Edge } from './bead-record.js';
import { expireWhenDue, finishWait, isLive, isWait, makeReady } from './wait-states.js';
import type { ClosedReaction, DependentsReaction, RemovedReaction, Work } from './work.js';

/** The type of the edges from a wait to what it waits for. */
export const WAITS_FOR = 'waits-for';

/** A wait that is closed as any bead is closed was canceled. */
export const cancelClosedWait: ClosedReaction = async (work, closed) => {
  if (isWait(closed) && isLive(closed)) await finishWait(work, closed, 'canceled');
};

/** Makes the waits ready that waited for this bead. */
export const satisfyWaits: DependentsReaction = async (work, _closed, dependents) => {
  await eachPending(work, dependents, async (id, mode) => {
    const wait = await expireWhenDue(work, await work.require(id));
    if (isLive(wait) && (mode === 'any' || wait.open_blockers === 0)) await makeReady(work, wait);
  });
};

/** Fails the waits that can no longer become ready: of `all` one bead is missing, of `any` all are. */
export const failWaits: RemovedReaction = async (work, removed, dependents) => {
  await eachPending(work, dependents, async (id, mode) => {
    if (mode === 'any' && (await work.edges(id, 'down')).length > 0) return;
    const wait = await expireWhenDue(work, await work.require(id));
    if (isLive(wait)) await finishWait(work, wait, 'failed', { last_error: `dependency ${removed.id} is missing` });
  });
};

/** One after the other, each as the ones before have left it: a wait may wait for another wait. */
async function eachPending(
  work: Work,
  dependents: readonly Edge[],
  act: (id: string, mode: string | undefined) => Promise<void>,
): Promise<void> {
  const ids = dependents.filter((edge) => edge.type === WAITS_FOR).map((edge) => edge.issue_id);
  await work.findAll(ids);
  for (const id of ids) {
    const bead = await work.find(id);
    if (bead !== undefined && isWait(bead) && bead.metadata.state === 'pending') await act(id, bead.metadata.dep_mode);
  }
}
