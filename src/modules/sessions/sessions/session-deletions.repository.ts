import { Injectable } from '@nestjs/common';
import { sql } from 'kysely';
import { Db } from '../../../platform/database/database.js';

/** Entries that one statement removes: all of a long transcript would take longer than a statement may. */
const STEP = 5_000;
/** What it has held, as long as somebody will give that back: without its record nobody would know that its holder has ended. */
const ASSIGNED = sql<boolean>`exists (select from beads b where b.stream_id = sessions.stream_id and b.assignee = sessions.id and b.status <> 'closed'
    and (b.status <> 'in_progress' or coalesce(b.metadata ->> 'gc.session_id', b.assignee) = b.assignee))`;
const HOLDS = sql<boolean>`(exists (select from cities c where c.stream_id = sessions.stream_id) and (
  ${ASSIGNED}
  or exists (select from beads b where b.stream_id = sessions.stream_id and b.status = 'in_progress' and b.assignee is not null and b.metadata <> '{}'
    and bead_terms(b.stream_id, b.labels, b.metadata) @> bead_terms(sessions.stream_id, '{}', jsonb_build_object('gc.session_id', sessions.id))
    and b.metadata ->> 'gc.session_id' = sessions.id)))`;
/** To be deleted, and something can be: while its city is stopped nobody gives back what it held, so that only what was said in it can go. */
const REMOVABLE = sql<boolean>`(state = 'closed' and delete_pending and not (
  exists (select from cities c where c.stream_id = sessions.stream_id and not c.running) and ${HOLDS}
  and not exists (select from session_entries e where e.session_pk = sessions.pk)))`;
/** What one turn takes of one session. */
const STEPS = 10;

/** Removes the records of closed sessions that were asked to be deleted, with everything that was said in them. */
@Injectable()
export class SessionDeletionsRepository {
  /** A test sets smaller ones. */
  step = STEP;
  steps = STEPS;

  constructor(private readonly db: Db) {}

  readonly isDue = sql<boolean>`exists (select from sessions where ${REMOVABLE})`;

  /**
   * What was said goes in steps, then the record. True when it is gone, whoever did it; what is left of a long transcript the next
   * turn goes on with. Its turns go with it: the sums of what its city has used say that they are not all.
   */
  async delete(pk: number): Promise<boolean> {
    let left = true;
    for (let n = 0; left && n < this.steps; n++) left = (await this.#entries(pk)) === this.step;
    if (left) return false;
    // One that has waited for another worker's step has removed less than is left, perhaps: then the record stays.
    await sql`
      with gone as (
        delete from sessions where pk = ${pk} and state = 'closed' and delete_pending
          and not exists (select from session_entries e where e.session_pk = ${pk} offset ${this.step}) and not ${HOLDS} returning pk),
      entries as (delete from session_entries e using gone g where e.session_pk = g.pk)
      insert into usage_cities as u (stream_id, removed_until)
      select t.stream_id, max(t.ended_at) from gone g join session_turns t on t.session_pk = g.pk where t.ended_at is not null group by t.stream_id
      on conflict (stream_id) do update set removed_until = excluded.removed_until
        where u.removed_until is null or u.removed_until < excluded.removed_until`.execute(this.db);
    // What it holds keeps it: that is given back first. No event tells its city of that, and whoever began to give it back may have failed, so it is made due.
    await sql`
      with marked as (
        update sessions set holds_more = true where pk = ${pk} and state = 'closed' and not holds_more and ${ASSIGNED})
      update city_pools p set next_at = clock_timestamp() from sessions
      where sessions.pk = ${pk} and sessions.state = 'closed' and sessions.delete_pending and ${HOLDS} and p.stream_id = sessions.stream_id
        and coalesce(p.next_at > clock_timestamp(), true)
        and exists (select from cities c where c.stream_id = p.stream_id and c.running)`.execute(this.db);
    const { rows } = await sql`select 1 from sessions where pk = ${pk}`.execute(this.db);
    return rows.length === 0;
  }

  /** Removes the last entries of a session that is to be deleted: what can be read until it is gone begins at the beginning. Answers how many. */
  async #entries(pk: number): Promise<number> {
    const { numAffectedRows } = await sql`
      delete from session_entries e using sessions s
      where s.pk = ${pk} and s.state = 'closed' and s.delete_pending and e.session_pk = s.pk and e.seq >= (
        select min(f.seq) from (select f.seq from session_entries f where f.session_pk = ${pk} order by f.seq desc limit ${this.step}) f)`.execute(
      this.db,
    );
    return Number(numAffectedRows ?? 0n);
  }

  /** Has sessions of a city deleted that were closed so long ago. Answers which. */
  async mark(streamId: number, olderMs: number, limit: number): Promise<number[]> {
    const { rows } = await sql<{ pk: number }>`
      update sessions set delete_pending = true where pk in (
        select pk from sessions where stream_id = ${streamId} and state = 'closed' and not delete_pending
          and closed_at < clock_timestamp() - ${olderMs} * interval '1 millisecond'
        order by created_at, pk limit ${limit} for update skip locked)
      returning pk`.execute(this.db);
    return rows.map(({ pk }) => pk);
  }

  /** Some that are to be deleted, others each time: those that cannot be, or take long, keep none of the others waiting. */
  async pending(limit: number): Promise<number[]> {
    const { rows } = await sql<{ pk: number }>`
      select pk from sessions where ${REMOVABLE} order by random() limit ${limit}`.execute(this.db);
    return rows.map(({ pk }) => pk);
  }
}
