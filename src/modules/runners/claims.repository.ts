import { Injectable } from '@nestjs/common';
import { sql, type Kysely } from 'kysely';
import type { Database } from '../../platform/database/database.js';
import type { Tx } from '../../platform/database/transactions.js';

/** A session that could be started now, with its city. */
export interface Candidate {
  readonly pk: number;
  readonly streamId: number;
  readonly cityId: number;
  readonly city: string;
  readonly path: string;
  readonly agent: string | null;
  readonly rig: string;
  readonly preset: string | null;
  /** It has been wanted for so long that any runner may take it. */
  readonly overdue: boolean;
  readonly wantedAt: Date | null;
}

export interface Load {
  readonly id: string;
  readonly capacity: number;
  readonly held: number;
}

/** The one predicate of startability as far as rows say it; suspension and readiness are asked apart. */
const STARTABLE = sql`s.wake_request is not null and s.runner_id is null and s.state in ('start-pending', 'asleep') and s.stop_request is null
  and coalesce(s.not_before, '-infinity') <= clock_timestamp() and coalesce(s.held_until, '-infinity') <= clock_timestamp()
  and coalesce(s.quarantined_until, '-infinity') <= clock_timestamp()`;

/** One that is to stop runs until its sessions are asleep: what is started meanwhile would only be stopped again. */
const RUNNING = sql`c.running and c.desired = 'running'`;

@Injectable()
export class ClaimsRepository {
  /** Those that have waited longest first, after `after` in that order. */
  async candidates(
    db: Kysely<Database>,
    { limit, overdueMs, after }: { limit: number; overdueMs: number; after?: Candidate | undefined },
  ): Promise<Candidate[]> {
    const { rows } = await sql<Candidate>`
      select s.pk, s.stream_id as "streamId", c.id as "cityId", c.name as city, c.dir as path, s.agent, s.rig, s.preset,
        s.wake_requested_at as "wantedAt",
        greatest(s.wake_requested_at, s.not_before, s.held_until, s.quarantined_until)
          < clock_timestamp() - ${overdueMs / 1000}::float8 * interval '1 second' as overdue
      from sessions s join cities c on c.stream_id = s.stream_id and ${RUNNING}
      where ${STARTABLE}
        and (${after === undefined} or (coalesce(s.wake_requested_at, '-infinity'), s.pk) >
          (coalesce(${after?.wantedAt ?? null}::timestamptz, '-infinity'), ${after?.pk ?? 0}::bigint))
      order by coalesce(s.wake_requested_at, '-infinity'), s.pk limit ${limit}`.execute(db);
    return rows;
  }

  /** What runners that take sessions hold now. */
  async loads(db: Kysely<Database>): Promise<Load[]> {
    const { rows } = await sql<Load>`
      select r.id, r.capacity, (select count(*)::int from sessions s where s.runner_id = r.id) as held
      from runners r where r.state = 'active' and r.lease_until > clock_timestamp()`.execute(db);
    return rows;
  }

  /** Locks those of `pks` that can still be started, when the runner may take them, by pk; what others hold is left to them. */
  async lockStartable(tx: Tx, streamId: number, pks: readonly number[], runnerId: string): Promise<{ pk: number; now: Date }[]> {
    const { rows } = await sql<{ pk: number; now: Date }>`
      select s.pk, clock_timestamp() as now from sessions s
      where s.pk = any(${[...pks]}::bigint[]) and s.stream_id = ${streamId} and ${STARTABLE}
        and exists (select from cities c where c.stream_id = s.stream_id and ${RUNNING})
        and exists (select from runners r where r.id = ${runnerId} and r.state = 'active' and r.lease_until > clock_timestamp())
      order by s.pk for update of s skip locked`.execute(tx);
    return rows;
  }
}
