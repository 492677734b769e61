import { BeadDependentsUpdated } from '../../../contract/events/beads.events.js';
import { event } from '../../../platform/event-log/event.js';
import type { FanOutsRepository } from './fan-outs.repository.js';
import type { Work } from './work.js';

/**
 * One step of a fan-out: the next dependents of a bead count anew what blocks them. What they count is what is true now, whatever has
 * become of the bead and of them since the fan-out began, so a step changes nothing that is right already. The last one tells the end.
 */
export async function stepOf(work: Work, fanOuts: FanOutsRepository, bead: string, holder: string, most: number): Promise<void> {
  const { tx, city } = work;
  const at = await fanOuts.take(tx, city.streamId, bead, holder);
  if (at === undefined) return;
  const edges = await fanOuts.edgesAfter(tx, city.streamId, bead, at, most);
  const last = edges.at(-1);
  if (last !== undefined) {
    const changed = at.changed + (await work.tell(bead, edges));
    const to = { after_type: last.type, after_id: last.issue_id, told: at.told + edges.length, changed };
    await fanOuts.advance(tx, city.streamId, bead, to);
    return;
  }
  // Each step has told its parent too; without dependents there was none.
  if (at.told === 0) await work.tell(bead, []);
  await fanOuts.end(tx, city.streamId, bead);
  const about = await work.require(bead);
  const { told, changed } = at;
  work.emit(event(BeadDependentsUpdated, { ...work.facts(about), payload: { bead_id: bead, status: about.status, told, changed } }));
}
