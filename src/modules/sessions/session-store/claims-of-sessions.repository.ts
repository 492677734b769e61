import { Injectable } from '@nestjs/common';
import { sql, type Kysely, type RawBuilder } from 'kysely';
import { Db, type Database } from '../../../platform/database/database.js';

/** Beads whose metadata has this value under this key, by the index over both; the value is compared again. */
function marked(streamId: number, key: string, value: RawBuilder<string>): RawBuilder<boolean> {
  return sql<boolean>`(b.labels <> '{}' or b.metadata <> '{}')
    and bead_terms(b.stream_id, b.labels, b.metadata) @> bead_terms(${streamId}, '{}', jsonb_build_object(${key}::text, ${value}))
    and b.metadata ->> ${key} = ${value}`;
}

/** Begun by somebody else, it is no work of the session that it is assigned to. */
const ITS_OWN = sql<boolean>`(b.status <> 'in_progress' or coalesce(b.metadata ->> 'gc.session_id', b.assignee) = b.assignee)`;

const WAITER = sql`(b.metadata ->> 'registered_session') collate "C"`;
/** Waits that are not over, as the index by their sessions has them. */
const waits = (streamId: number): RawBuilder<unknown> => sql`
  beads b where b.stream_id = ${streamId} and b.issue_type = 'gate' and b.status <> 'closed' and b.labels @> '{gc:wait}'
    and b.metadata ->> 'state' in ('pending', 'ready') and length(b.metadata ->> 'registered_session') <= 255`;

/** SQL about what sessions hold, and what they wait for. */
@Injectable()
export class ClaimsOfSessionsRepository {
  constructor(private readonly db: Db) {}

  /** Begun work of a session, and work that is assigned to it by a name that no other session will ever have. */
  async held(streamId: number, session: string, limit: number, db: Kysely<Database> = this.db): Promise<string[]> {
    const id = sql<string>`${session}::text`;
    const { rows } = await sql<{ id: string }>`
      select b.id from beads b
      where b.stream_id = ${streamId} and b.status = 'in_progress' and b.assignee is not null and ${marked(streamId, 'gc.session_id', id)}
      union
      select b.id from beads b where b.stream_id = ${streamId} and b.assignee = ${session} and b.status <> 'closed' and ${ITS_OWN}
      order by 1 limit ${limit}`.execute(db);
    return rows.map((row) => row.id);
  }

  /**
   * What is assigned to a session by a name that is nobody else's: no agent's, nor a member's of a pool. What is begun is the session's only where it says so: others,
   * outside of all sessions, may have claimed by that name.
   */
  async assignedBy(
    db: Kysely<Database>,
    streamId: number,
    { name, session, names }: { readonly name: string; readonly session: string; readonly names: readonly string[] },
    limit: number,
  ): Promise<string[]> {
    const { rows } = await sql<{ id: string }>`
      select b.id from beads b
      where b.stream_id = ${streamId} and b.assignee = ${name} and b.status <> 'closed'
        and (b.status <> 'in_progress' or b.metadata ->> 'gc.session_id' = ${session}
          or coalesce(b.metadata ->> 'gc.session_id', '') = '' and b.metadata ->> 'gc.session_name' = any(${[...names]}::text[]))
        and not exists (select from claimant(${streamId}, ${name}))
      order by b.id limit ${limit}`.execute(db);
    return rows.map((row) => row.id);
  }

  /** Waits that are registered for a session and not over. */
  async waits(db: Kysely<Database>, streamId: number, session: string, limit: number): Promise<string[]> {
    const { rows } = await sql<{ id: string }>`
      select b.id from ${waits(streamId)} and ${WAITER} = ${session} limit ${limit}`.execute(db);
    return rows.map((row) => row.id);
  }

  /**
   * Waits that are not over and were registered for a session which is: their ids by session. A city may have many waits, and
   * all but a few are of sessions that are there: from session to session, without reading what each has.
   */
  async orphanedWaits(streamId: number, limit: number): Promise<{ id: string; session: string }[]> {
    const next = (than: RawBuilder<unknown>): RawBuilder<unknown> =>
      sql`(select ${WAITER} as session from ${waits(streamId)} and ${WAITER} > ${than} order by ${WAITER} limit 1)`;
    const { rows } = await sql<{ id: string; session: string }>`
      with recursive waiters as (
        ${next(sql`''`)} union all select n.session from waiters w cross join lateral ${next(sql`w.session`)} n)
      select b.id, w.session from waiters w
      cross join lateral (select b.id from ${waits(streamId)} and ${WAITER} = w.session limit ${limit}) b
      where not exists (select from sessions s where s.stream_id = ${streamId} and s.id = w.session and s.state <> 'closed')
      limit ${limit}`.execute(this.db);
    return rows;
  }

  /** Whether the note of a wait has been delivered. */
  async isTold(db: Kysely<Database>, streamId: number, nudgeId: string): Promise<boolean> {
    const { rows } = await sql`
      select 1 from session_messages m
      where m.stream_id = ${streamId} and m.source = 'wait' and m.reference = ${nudgeId} and m.status = 'delivered'`.execute(db);
    return rows.length > 0;
  }

  /**
   * Sessions that end keep what is assigned to them: it is given back later. Each is marked, whatever it has: what is being assigned to it right now
   * is not committed yet. What is assigned to it after that is noted in `late_holders` as it is committed.
   */
  async leave(tx: Kysely<Database>, pks: readonly number[]): Promise<void> {
    await sql`update sessions set holds_more = true where pk = any(${pks}::bigint[])`.execute(tx);
  }

  /** Whether an ended session is marked, which may hold nothing. */
  async hasLeft(streamId: number): Promise<boolean> {
    const { rows } = await sql`
      (select 1 from sessions where stream_id = ${streamId} and holds_more and state = 'closed' limit 1)
      union all (select 1 from late_holders where stream_id = ${streamId} limit 1) limit 1`.execute(this.db);
    return rows.length > 0;
  }

  /**
   * Sessions from which all is given back by now are looked at no more. To be called where the city's work is held: whoever writes something that is not
   * committed yet, and cannot be seen here, notes its holder anew before its commit.
   */
  async settle(tx: Kysely<Database>, streamId: number): Promise<void> {
    await sql`update sessions s set holds_more = false where s.stream_id = ${streamId} and s.holds_more and not exists (
      select from beads b where b.stream_id = ${streamId} and b.assignee = s.id and b.status <> 'closed' and ${ITS_OWN})`.execute(tx);
    await sql`delete from late_holders l where l.stream_id = ${streamId} and not exists (
      select from sessions s join beads b on b.stream_id = s.stream_id and b.assignee = s.id and b.status <> 'closed' and ${ITS_OWN}
      where s.stream_id = ${streamId} and s.id = l.session_id and s.state = 'closed')`.execute(tx);
  }

  /**
   * What `held` has of sessions that have ended, for running cities: their ids by session. What is begun is looked up one by one; a city has any number
   * of names to whom beads are assigned, so what is assigned is looked for from those that were left with more, or were given something later.
   */
  async orphaned(streamId: number, limit: number): Promise<{ id: string; session: string }[]> {
    const ended = (id: RawBuilder<unknown>): RawBuilder<unknown> =>
      sql`(select s.id from sessions s where s.stream_id = ${streamId} and s.id = ${id} and s.state = 'closed' limit 1)`;
    const { rows } = await sql<{ id: string; session: string }>`
      (select b.id, s.id as session from beads b cross join lateral ${ended(sql`b.metadata ->> 'gc.session_id'`)} s
        where b.stream_id = ${streamId} and b.status = 'in_progress' and b.assignee is not null and b.metadata ? 'gc.session_id' limit ${limit})
      union
      (select b.id, s.id from (
          select s.id from sessions s where s.stream_id = ${streamId} and s.holds_more and s.state = 'closed'
          union
          select s.id from late_holders l cross join lateral ${ended(sql`l.session_id`)} s where l.stream_id = ${streamId}) s
        cross join lateral (
          select b.id from beads b
          where b.stream_id = ${streamId} and b.assignee = s.id and b.status <> 'closed' and ${ITS_OWN} limit ${limit}) b limit ${limit})
      order by id limit ${limit}`.execute(this.db);
    return rows;
  }

  /**
   * Extends the leases of begun work whose session has a process, once a third of a lease is used up. Rows that somebody
   * has locked are left to the next time, so that this never waits. Answers how many.
   */
  async renew(): Promise<number> {
    const { numAffectedRows } = await sql`
      with due as (
        select b.stream_id, b.id from beads b
        join sessions s on s.stream_id = b.stream_id and s.id = b.metadata ->> 'gc.session_id' and s.runner_id is not null and s.live
        where b.lease_until is not null and b.status = 'in_progress' and b.lease_until > clock_timestamp()
          and b.lease_until < clock_timestamp() + b.lease_ms * interval '0.667 milliseconds'
          and exists (select from cities c where c.stream_id = b.stream_id and c.running)
        order by b.lease_until limit 5000 for update of b skip locked
      )
      update beads b set lease_until = clock_timestamp() + b.lease_ms * interval '1 millisecond'
      from due where b.stream_id = due.stream_id and b.id = due.id`.execute(this.db);
    return Number(numAffectedRows ?? 0n);
  }
}
