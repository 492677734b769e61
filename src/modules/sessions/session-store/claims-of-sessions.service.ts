import { Injectable } from '@nestjs/common';
import { BeadDeadAssigneeReopened } from '../../../contract/events/beads.events.js';
import { event } from '../../../platform/event-log/event.js';
import type { SessionChanges } from './session-changes.js';
import type { SessionRow } from './session-row.js';
import { expireWhenDue, finishWait, isLive, isWait, nudgeOf } from '../../work/work/wait-states.js';
import type { Work } from '../../work/work/work.js';
import { ClaimsOfSessionsRepository } from './claims-of-sessions.repository.js';

/** What one transaction gives back of one session, and ends: nobody else writes in its city meanwhile. What is behind that of an ended one `releaseOrphaned` finds. */
export const BEADS_AT_ONCE = 200;
const WAITS_AT_ONCE = 100;

/** The work that sessions hold: given back when they end, kept while they live. So are their waits. */
@Injectable()
export class ClaimsOfSessions {
  constructor(private readonly repository: ClaimsOfSessionsRepository) {}

  /**
   * What `release` does, in the transaction that closes the session: nobody waits for anything any more, either. A wait that
   * stayed would never be told, and whoever gets the name next would seem to wait. Returns how many beads it gave back.
   */
  async end(changes: SessionChanges, work: Work, row: SessionRow, reason: string): Promise<number> {
    const released = await this.release(changes, work, row, reason);
    if (released === BEADS_AT_ONCE) await this.leave(changes, [row.pk]);
    const ids = await this.repository.waits(changes.tx, changes.city.streamId, row.id, WAITS_AT_ONCE);
    for (const wait of await work.findAll(ids)) await this.#endWait(work, wait.id, row.id);
    return released;
  }

  /**
   * Gives back what a session holds, in the transaction that ends it, or before it rests for long: begun work is open again and
   * nobody's, with an event that names `reason`. To be called in `SessionChangesService.withWork`, before or after that.
   * Work that is assigned to a pool member's name stays assigned: its next session goes on with it. Returns how many: with
   * `BEADS_AT_ONCE` there may be more, which of one that rests nobody else finds.
   */
  async release(changes: SessionChanges, work: Work, row: SessionRow, reason: string): Promise<number> {
    const ids = await this.repository.held(changes.city.streamId, row.id, BEADS_AT_ONCE, changes.tx);
    let released = 0;
    for (const bead of await work.findAll(ids)) if (await reopen(work, bead.id, row.id, reason)) released++;
    return released;
  }

  /**
   * What is assigned to a session by a name that it has no more is assigned to it by the other one: nobody would be given it otherwise. What it has begun goes on under its
   * claim. All of it at once, however much that is: the old name may be another session's as soon as this one has committed.
   */
  async rename(work: Work, { id: session, session_name: own, past_aliases: past }: SessionRow, from: string, to: string): Promise<void> {
    for (;;) {
      const whose = { name: from, session, names: [session, own, from, ...past] };
      const ids = await this.repository.assignedBy(work.tx, work.city.streamId, whose, BEADS_AT_ONCE);
      await work.updateAll(ids, { assignee: to, sameOwner: true });
      if (ids.length < BEADS_AT_ONCE) return;
    }
  }

  /** Remembers what is assigned to sessions that end in a transaction which may not give it back: `releaseOrphaned` does. */
  async leave({ tx }: SessionChanges, pks: readonly number[]): Promise<void> {
    await this.repository.leave(tx, pks);
  }

  /** Gives back what ended sessions still hold, and ends their waits, `limit` beads of either at once: whoever ended them could not. */
  async releaseOrphaned(work: Work, limit: number): Promise<number> {
    const { streamId } = work.city;
    let released = 0;
    for (const { id, session } of await this.repository.orphaned(streamId, limit))
      if (await reopen(work, id, session, 'closed')) released++;
    await this.repository.settle(work.tx, streamId);
    for (const { id, session } of await this.repository.orphanedWaits(streamId, limit))
      if (await this.#endWait(work, id, session)) released++;
    return released;
  }

  /** Whether there is something for `releaseOrphaned`, as it is committed. */
  async hasOrphaned(streamId: number): Promise<boolean> {
    if (await this.repository.hasLeft(streamId)) return true;
    return (await this.repository.orphaned(streamId, 1)).length > 0 || (await this.repository.orphanedWaits(streamId, 1)).length > 0;
  }

  /** Keeps the leases of all sessions that have a process. Returns how many it extended. */
  renew(): Promise<number> {
    return this.repository.renew();
  }

  /**
   * False when it is over, or another session's, by now: what is looked at is what the city's writers have left. One whose note has been delivered
   * has ended as it should, whoever comes first to see it.
   */
  async #endWait(work: Work, id: string, session: string): Promise<boolean> {
    const bead = await work.find(id);
    if (bead === undefined || bead.status === 'closed' || !isWait(bead) || bead.metadata.registered_session !== session) return false;
    const told = bead.metadata.state === 'ready' && (await this.repository.isTold(work.tx, work.city.streamId, nudgeOf(bead)));
    const wait = told ? await finishWait(work, bead, 'closed') : await expireWhenDue(work, bead);
    if (isLive(wait)) await finishWait(work, wait, 'canceled', { canceled_by: work.actor, close_reason: `session ${session} has ended` });
    return true;
  }
}

/** False when somebody else has it by now: what is looked at is what the city's writers have left. */
async function reopen(work: Work, id: string, session: string, reason: string): Promise<boolean> {
  const bead = await work.find(id);
  if (bead === undefined || bead.status === 'closed') return false;
  const { 'gc.session_id': holder, 'gc.routed_to': route } = bead.metadata;
  if (bead.status === 'in_progress' && holder !== undefined && holder !== session) return false;
  if (bead.assignee === null || (bead.status === 'open' && bead.assignee !== session)) return false;
  const owner = bead.assignee;
  // Who may be given it next: the route, or the agent that it was assigned to by name.
  await work.update(id, { status: 'open', assignee: null });
  work.emit(
    event(BeadDeadAssigneeReopened, {
      ...work.facts(bead),
      message: `session ${session} of ${owner} has ended (${reason}); the bead is open again`,
      payload: { bead_id: id, dead_assignee: owner, ...(route ? { routed_to: route } : {}) },
    }),
  );
  return true;
}
