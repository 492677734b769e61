import { Injectable } from '@nestjs/common';
import { sql, type Kysely, type RawBuilder } from 'kysely';
import type { Database } from '../../../platform/database/database.js';
import type { Tx } from '../../../platform/database/transactions.js';
import type { Parts } from '../../sessions/launch/launch.js';
import { SESSION_ROW, type SessionRow } from '../../sessions/session-store/session-row.js';

/** A city with sessions that are wanted. */
export interface WantingCity {
  readonly streamId: number;
  readonly cityId: number;
  readonly city: string;
  readonly path: string;
  readonly running: boolean;
}

/** Where one stands in the line of its city. */
export interface LinePlace {
  readonly wantedAt: string;
  readonly pk: number;
}

/** A session that could be started now, with its city. Its program is that of its last start, or of its making. */
export interface Candidate
  extends LinePlace, Pick<SessionRow, 'kind' | 'template' | 'provider' | 'preset' | 'transport' | 'named_identity'> {
  readonly streamId: number;
  readonly agent: string | null;
  readonly rig: string;
  /** It has been wanted for so long that any runner may take it. */
  readonly overdue: boolean;
}

export interface Load {
  readonly id: string;
  readonly capacity: number;
  readonly held: number;
  /** How many of each city, by the city's stream; null but for the one who asks. */
  readonly cities: Readonly<Record<string, number>> | null;
}

/** A session that a transaction has, what its last process has noted, and when it was looked at. */
export type Startable = SessionRow & { readonly now: Date; readonly parts: Parts | null };

/** As the index has it. */
const WANTED = sql`s.wake_request is not null and s.runner_id is null and s.state in ('start-pending', 'asleep')`;
/** The one predicate of startability as far as rows say it; suspension and readiness are asked apart. */
const STARTABLE = sql`${WANTED} and s.stop_request is null
  and coalesce(s.not_before, '-infinity') <= clock_timestamp() and coalesce(s.held_until, '-infinity') <= clock_timestamp()
  and coalesce(s.quarantined_until, '-infinity') <= clock_timestamp()`;
const WANTED_AT = sql`coalesce(s.wake_requested_at, '-infinity')`;
/** No other index has this order: one of all sessions of a city would be read to its end where none is wanted. */
const LINE = sql`s.stream_id, ${WANTED_AT}, s.pk`;

/** One that is to stop runs until its sessions are asleep: what is started meanwhile would only be stopped again. */
const RUNNING = sql`c.running and c.desired = 'running'`;

/** City by city, those of `within` that have a session that is wanted. */
function walk(name: RawBuilder<unknown>, within: RawBuilder<unknown>): RawBuilder<unknown> {
  const first = (after: RawBuilder<unknown>) => sql`
    select s.stream_id from sessions s where ${WANTED} and ${within} ${after} order by ${LINE} limit 1`;
  return sql`(${first(sql``)}) union all
    select n.stream_id from ${name} w cross join lateral (${first(sql`and s.stream_id > w.stream_id`)}) n`;
}

@Injectable()
export class ClaimsRepository {
  /** Whether a session is wanted, be its time come or not. */
  readonly isWanted = sql<boolean>`(select true from sessions s where ${WANTED} order by ${LINE} limit 1)`;

  /**
   * The next `limit` cities behind `after` with wanted sessions, around to `after` itself: after the last one comes the first. Each is found by
   * one look into the index, and no more of them than are answered.
   */
  async cities(db: Kysely<Database>, after: number, limit: number): Promise<WantingCity[]> {
    const { rows } = await sql<WantingCity>`
      with recursive above as (${walk(sql`above`, sql`s.stream_id > ${after}`)}), below as (${walk(sql`below`, sql`s.stream_id <= ${after}`)})
      select c.stream_id as "streamId", c.id as "cityId", c.name as city, c.dir as path, ${RUNNING} as running
      from (select 0 as round, stream_id from above union all select 1, stream_id from below limit ${limit}) w
      join cities c using (stream_id) order by w.round, c.stream_id`.execute(db);
    return rows;
  }

  /** Of each city those that have waited longest, `each` at the most, behind the given place of its line. */
  async candidates(
    db: Kysely<Database>,
    lines: readonly { readonly streamId: number; readonly after?: LinePlace | undefined }[],
    { each, overdueMs }: { each: number; overdueMs: number },
  ): Promise<Candidate[]> {
    const places = lines.map(({ streamId, after }) => ({ id: streamId, at: after?.wantedAt ?? '-infinity', pk: after?.pk ?? -1 }));
    const { rows } = await sql<Candidate>`
      select s.pk, w.id as "streamId", s.agent, s.rig, s.kind, s.template, s.provider, s.preset, s.transport, s.named_identity, s.at::text as "wantedAt",
        greatest(s.at, s.not_before, s.held_until, s.quarantined_until)
          < clock_timestamp() - ${overdueMs / 1000}::float8 * interval '1 second' as overdue
      from jsonb_to_recordset(${JSON.stringify(places)}::jsonb) as w(id bigint, at timestamptz, pk bigint) cross join lateral (
        select s.pk, s.agent, s.rig, s.kind, s.template, s.provider, s.preset, s.transport, s.named_identity, s.not_before, s.held_until,
          s.quarantined_until, ${WANTED_AT} as at from sessions s
        where s.stream_id = w.id and ${STARTABLE} and (${WANTED_AT}, s.pk) > (w.at, w.pk)
        order by ${WANTED_AT}, s.pk limit ${each}) s`.execute(db);
    return rows;
  }

  /** What runners that take sessions hold now; of `self` also of which cities. */
  async loads(db: Kysely<Database>, self: string): Promise<Load[]> {
    const { rows } = await sql<Load>`
      select r.id, r.capacity, (select count(*)::int from sessions s where s.runner_id = r.id) as held,
        case when r.id = ${self} then (select coalesce(json_object_agg(c.stream_id, c.n), '{}') from (
          select s.stream_id, count(*) as n from sessions s where s.runner_id = ${self} group by 1) c) end as cities
      from runners r where r.state = 'active' and r.lease_until > clock_timestamp()`.execute(db);
    return rows;
  }

  /** Locks those of `pks` that can still be started, when the runner may take them, by pk; what others hold is left to them. */
  async lockStartable(tx: Tx, streamId: number, pks: readonly number[], runnerId: string): Promise<Startable[]> {
    const { rows } = await sql<Startable>`
      select ${SESSION_ROW}, s.launch_parts as parts, clock_timestamp() as now from sessions s
      where s.pk = any(${[...pks]}::bigint[]) and s.stream_id = ${streamId} and ${STARTABLE}
        and exists (select from cities c where c.stream_id = s.stream_id and ${RUNNING})
        and exists (select from runners r where r.id = ${runnerId} and r.state = 'active' and r.lease_until > clock_timestamp())
      order by s.pk for update of s skip locked`.execute(tx);
    return rows;
  }
}
