import { Injectable } from '@nestjs/common';
import { sql } from 'kysely';
import { Db } from '../../../platform/database/database.js';
import type { Tx } from '../../../platform/database/transactions.js';
import { isWaitIn } from './wait-delivery.repository.js';
import type { SessionRow } from '../../sessions/session-store/session-row.js';

/** A city whose sessions are to be looked at. */
export interface PoolCity {
  /** 0 once it is registered no longer. */
  readonly id: number;
  readonly name: string;
  readonly path: string;
  readonly stream: string;
  readonly streamId: number;
  readonly is: 'running' | 'stopped' | 'gone';
  /** The position of its event log. */
  readonly head: number;
}

/** A city and the last look at it. */
export interface PoolLook {
  readonly city: PoolCity;
  /** Milliseconds since 1970, by the clock of the database. */
  readonly now: number;
  /** Milliseconds since the last look; Infinity for the first time. */
  readonly sinceMs: number;
  /** The position of the event log as it was then. */
  readonly lastHead: number | undefined;
  /** The time of the next look, as `passed` compares it. */
  readonly nextAt: string | null;
  /** Milliseconds for which that has been over; Infinity without one. */
  readonly overMs: number;
}

export type PoolRow = Pick<
  SessionRow,
  | 'pk'
  | 'id'
  | 'origin'
  | 'kind'
  | 'template'
  | 'agent'
  | 'agent_name'
  | 'slot'
  | 'rig'
  | 'named_identity'
  | 'session_name'
  | 'alias'
  | 'state'
  | 'state_at'
  | 'reason'
  | 'generation'
  | 'live'
  | 'ready_at'
  | 'last_woke_at'
  | 'wake_request'
  | 'stop_request'
  | 'stop_reason'
  | 'stop_requested_at'
  | 'start_deadline'
  | 'not_before'
  | 'held_until'
  | 'quarantined_until'
  | 'churns'
  | 'metadata'
  | 'options'
  | 'launch_hash'
  | 'launch_options'
  | 'accepted_hash'
  | 'tried_hash'
> & {
  readonly has_runner: boolean;
  readonly runner_gone: boolean;
  readonly in_turn: boolean;
  readonly activity_at: Date;
  readonly last_output_at: Date | null;
  readonly asks: boolean;
  readonly messages: number;
  readonly ever_held: boolean;
  readonly waits: boolean;
  readonly nudges: Readonly<Record<string, number>>;
  readonly nudged: Readonly<Record<string, number>>;
};

/** The last of a session that are read: it is told of the first bead of each side that it has work from, and not of many. */
const NUDGES = 8;

/** What a decision has to find unchanged when it is carried out. */
export interface Guard {
  readonly in_turn: boolean;
  readonly asks: boolean;
  readonly messages: number;
  readonly holds: boolean;
}

const CITY = sql`coalesce(c.id, 0) as id, e.name, coalesce(c.dir, '') as path, e.name as stream, e.id as "streamId", e.head,
  case when c.id is null then 'gone' when c.running and c.desired = 'running' then 'running' else 'stopped' end as is`;
const OPEN_QUESTION = sql`exists (select from session_interactions i where i.session_pk = s.pk and i.status = 'open')`;
const MESSAGES = sql`(select count(*)::int from session_messages m where m.session_pk = s.pk and m.status in ('queued', 'in_flight'))`;
const untold = (processId: string) => sql`e.id in (
  select n.stream_id from city_pools n where n.next_at <= clock_timestamp()
  union select h.stream_id from sessions h
  where h.runner_id in (select r.id from runners r where r.process_id = ${processId} and r.state in ('active', 'draining')))`;
const MARK = sql`jsonb_build_object('gc.session_id', s.id)`;

/** SQL of looking at the sessions of a city as a whole. */
@Injectable()
export class PoolStateRepository {
  constructor(private readonly db: Db) {}

  /** Whether a time has come in a city, or one has processes. */
  readonly isDue = sql<boolean>`(select n.next_at <= clock_timestamp() from city_pools n where n.next_at is not null order by n.next_at limit 1)
    or (select true from sessions h where h.runner_id is not null order by h.runner_id limit 1)`;

  /**
   * Cities in which something has happened since they were looked at, or in which a time has come; of streams with these names only, when given, or
   * of those that no event need have told of: a time has come there, or this process has sessions of theirs, whose output is no event. With
   * those of all workers each of them read all sessions there are, 5 ms for 500. `limit` at once, the longest overdue first.
   */
  async due(limit: number, of: readonly string[] | { readonly processId: string } | 'all' = 'all'): Promise<PoolCity[]> {
    const only = of === 'all' ? sql`true` : 'processId' in of ? untold(of.processId) : sql`e.name = any(${[...of]}::text[])`;
    const { rows } = await sql<PoolCity>`
      select ${CITY} from event_streams e
      left join cities c on c.stream_id = e.id
      left join city_pools p on p.stream_id = e.id
      where ${only} and e.name <> '__supervisor__' and (
        case when c.running and c.desired = 'running' then p.stream_id is null or p.head <> e.head or p.next_at <= clock_timestamp()
          or exists (select from sessions s join session_logs l on l.session_pk = s.pk
            where s.stream_id = e.id and s.runner_id is not null and l.activity_at > p.passed_at)
        else exists (select from sessions s where s.stream_id = e.id and s.runner_id is not null
            and (s.stop_request is null or s.stop_request in ('drain', 'handover')))
          or (c.id is null and exists (select from sessions s where s.stream_id = e.id and s.state <> 'closed'
            and s.stop_request is distinct from 'close')) end)
      order by p.passed_at nulls first limit ${limit}`.execute(this.db);
    return rows;
  }

  async city(streamId: number): Promise<PoolCity | undefined> {
    const { rows } = await sql<PoolCity>`
      select ${CITY} from event_streams e left join cities c on c.stream_id = e.id where e.id = ${streamId}`.execute(this.db);
    return rows[0];
  }

  /** The stream of a city's name, whether the city is registered or not. */
  async named(stream: string): Promise<{ readonly streamId: number }[]> {
    const { rows } = await sql<{ streamId: number }>`select id as "streamId" from event_streams where name = ${stream}`.execute(this.db);
    return rows;
  }

  /** The city's lock of this room until the transaction ends; false when somebody else has it. The release before has 3 alone, also for rigs. */
  async tryLock(tx: Tx, streamId: number): Promise<boolean> {
    const { rows } = await sql<{
      ok: boolean;
    }>`select pg_try_advisory_xact_lock_shared(3, ${streamId}) and pg_try_advisory_xact_lock(6, ${streamId}) as ok`.execute(tx);
    return rows[0]!.ok;
  }

  /** To be asked behind the lock of the city. Undefined where no city of this stream ever was. */
  async look(tx: Tx, streamId: number): Promise<PoolLook | undefined> {
    const { rows } = await sql<
      PoolCity & Pick<PoolLook, 'nextAt'> & { now: Date; lastHead: number | null; ms: number | null; over: number | null }
    >`
      select ${CITY}, t.now, p.head as "lastHead", p.next_at::text as "nextAt",
        case when p.passed_at > '-infinity' then extract(epoch from t.now - p.passed_at) * 1000 end as ms, extract(epoch from t.now - p.next_at) * 1000 as over
      from (select clock_timestamp() as now) t, event_streams e left join cities c on c.stream_id = e.id left join city_pools p on p.stream_id = e.id
      where e.id = ${streamId}`.execute(tx);
    const row = rows[0];
    if (row === undefined) return undefined;
    const { now, lastHead, nextAt, ms, over, ...city } = row;
    return { city, now: now.getTime(), lastHead: lastHead ?? undefined, nextAt, sinceMs: ms ?? Infinity, overMs: over ?? Infinity };
  }

  /** Notes a look. `before` is the time of the next as the look began: an earlier one that `lookAgain` has set meanwhile stays. */
  async passed(
    tx: Tx,
    streamId: number,
    at: { now: number; head: number; nextAt: number | undefined; before: string | null },
  ): Promise<void> {
    const next = at.nextAt === undefined ? null : new Date(at.nextAt);
    await sql`
      insert into city_pools as p (stream_id, passed_at, head, next_at) values (${streamId}, ${new Date(at.now)}, ${at.head}, ${next})
      on conflict (stream_id) do update set passed_at = excluded.passed_at, head = excluded.head,
        next_at = case when p.next_at::text is distinct from ${at.before}::text then least(p.next_at, excluded.next_at) else excluded.next_at end`.execute(
      tx,
    );
  }

  /** Has the city looked at again after so long, whatever the last look has left for later, or one that goes on will leave. */
  async lookAgain(streamId: number, ms: number): Promise<void> {
    // A time that has come already is set anew, so that the look which it has caused finds that it has changed.
    await sql`
      update city_pools set next_at = case when next_at <= clock_timestamp() then clock_timestamp()
        else least(next_at, clock_timestamp() + ${ms}::float8 * interval '1 millisecond') end
      where stream_id = ${streamId}`.execute(this.db);
  }

  /** Everything of the city that is not closed, by pk. A wait is that of the session it was registered for, and of no other which has its name then. */
  async sessions(tx: Tx, streamId: number): Promise<PoolRow[]> {
    const { rows } = await sql<PoolRow>`
      with waiting as materialized (
        select coalesce(b.metadata ->> 'registered_session', b.metadata ->> 'session_id') as name from beads b
        where ${isWaitIn(streamId, 'pending')} and coalesce(b.metadata ->> 'registered_session', b.metadata ->> 'session_id', '') <> '')
      select s.pk, s.id, s.origin, s.kind, s.template, s.agent, s.agent_name, s.slot, s.rig, s.named_identity, s.session_name, s.alias, s.state,
        s.state_at, s.reason, s.generation, s.live, s.ready_at, s.last_woke_at, s.wake_request, s.stop_request, s.stop_reason,
        s.stop_requested_at, s.start_deadline, s.not_before, s.held_until, s.quarantined_until, s.churns, s.metadata, s.options, s.launch_hash,
        s.launch_options, s.accepted_hash, s.tried_hash, s.runner_id is not null as has_runner, coalesce(r.state in ('lost', 'stopped'), true) as runner_gone,
        l.activity = 'in-turn' as in_turn, l.activity_at, l.last_output_at, ${OPEN_QUESTION} as asks, ${MESSAGES} as messages,
        s.origin = 'pool' and exists (select from beads b where b.stream_id = s.stream_id and (b.labels <> '{}' or b.metadata <> '{}')
          and bead_terms(b.stream_id, b.labels, b.metadata) @> bead_terms(s.stream_id, '{}', ${MARK}) and b.metadata @> ${MARK}) as ever_held,
        s.id in (select name from waiting) or s.session_name in (select name from waiting) or s.alias in (select name from waiting)
          or coalesce(s.agent_name, '') in (select name from waiting) as waits,
        coalesce(n.told, '{}') as nudges, coalesce(n.often, '{}') as nudged
      from sessions s
      join session_logs l on l.session_pk = s.pk
      left join runners r on r.id = s.runner_id
      left join lateral (select jsonb_object_agg(t.reference, t.at) as told, jsonb_object_agg(t.reference, t.n) as often from (
        select m.reference, floor(extract(epoch from max(m.created_at)) * 1000) as at,
          count(*) filter (where m.created_at > clock_timestamp() - interval '1 hour') as n from (
          select m.reference, m.created_at from session_messages m
          where m.session_pk = s.pk and m.source = 'nudge' order by m.pk desc limit ${NUDGES}) m
        where m.reference is not null group by m.reference) t) n on true
      where s.stream_id = ${streamId} and s.state <> 'closed' order by s.pk`.execute(tx);
    return rows;
  }

  /** What is true of a locked session now. */
  async guard(tx: Tx, pk: number): Promise<Guard> {
    const { rows } = await sql<Guard>`
      select l.activity = 'in-turn' as in_turn, ${OPEN_QUESTION} as asks, ${MESSAGES} as messages,
        exists (select from beads b where b.stream_id = s.stream_id and b.status = 'in_progress' and b.assignee is not null
          and (b.labels <> '{}' or b.metadata <> '{}')
          and bead_terms(b.stream_id, b.labels, b.metadata) @> bead_terms(s.stream_id, '{}', ${MARK}) and b.metadata @> ${MARK}) as holds
      from sessions s join session_logs l on l.session_pk = s.pk where s.pk = ${pk}`.execute(tx);
    return rows[0]!;
  }

  /** How many sessions of a city have a process, or may have one. */
  async withProcess(streamId: number): Promise<number> {
    const { rows } = await sql<{ n: number }>`
      select count(*)::int as n from sessions where stream_id = ${streamId} and runner_id is not null`.execute(this.db);
    return rows[0]!.n;
  }

  async savepoint(tx: Tx): Promise<void> {
    await sql`savepoint pool_decision`.execute(tx);
  }

  async rollback(tx: Tx): Promise<void> {
    await sql`rollback to savepoint pool_decision`.execute(tx);
  }
}
