import { Injectable } from '@nestjs/common';
import { sql, type Kysely, type RawBuilder } from 'kysely';
import { Db, type Database } from '../../../platform/database/database.js';

export interface OfferedRow {
  readonly route: string;
  readonly id: string;
  /** When it was changed last, or made. */
  readonly at: Date;
}

export interface AssignedRow {
  readonly assignee: string;
  readonly id: string;
  /** The session that has begun it; null for none. */
  readonly session: string | null;
  readonly begun: boolean;
  /** Somebody keeps it by a lease of its own. */
  readonly leased: boolean;
  /** When it was changed last, or made. */
  readonly at: Date;
}

/** Whose work is asked for. */
export interface Claimants {
  readonly names: readonly string[];
  /** Agents whose numbered members, such as `worker-3`, are meant, too. */
  readonly pools: readonly string[];
}

/** So many names that have work are looked through. Where there are more, only the given names are asked for. */
const NAMES = 500;
/** Of each name at least so many of its oldest beads, and of routes so many of the newest, which say that there is something new. */
const OLDEST = 20;
const NEWEST = 20;

/** The claimants that have work, each found by one look into the index, and how many beads of each are told. */
const having = (
  { names, pools }: Claimants,
  limit: number,
  name: RawBuilder<unknown>,
  where: RawBuilder<unknown>,
): RawBuilder<unknown> => sql`
  with recursive found (name) as (
    (select ${name} from beads b where ${where} order by ${name} limit 1)
    union all
    select (select ${name} from beads b where ${where} and ${name} > f.name order by ${name} limit 1) from found f where f.name is not null
  ), known as materialized (
    select f.name from found f where f.name is not null limit ${NAMES}
  ), wanted as materialized (
    select k.name from known k
    where k.name = any(${[...names]}::text[]) or regexp_replace(k.name, '-[1-9][0-9]{0,8}$', '') = any(${[...pools]}::text[])
    union select n from unnest(${[...names]}::text[]) n where (select count(*) from known) = ${NAMES}
  ), share as materialized (
    select greatest(${OLDEST}::int, ${limit}::int / greatest(1, count(*)::int)) as size from wanted
  )`;

/** What is on whose hook, for who starts sessions: by the predicates that claims ask. Much work of one name hides nobody else's. */
@Injectable()
export class OfferedWorkRepository {
  constructor(private readonly db: Db) {}

  /** What nobody has taken, the oldest first; up to `limit` beads of the city, whoever they are for. */
  async offered(streamId: number, limit: number, db: Kysely<Database> = this.db): Promise<OfferedRow[]> {
    const { rows } = await sql<OfferedRow>`
      select o.route, o.id, o.at from (
        select b.routed_to as route, b.id, coalesce(b.updated_at, b.created_at) as at, b.created_at from beads b
        where b.stream_id = ${streamId} and bead_is_offered(b) limit ${limit}
      ) o order by o.route collate "C", o.created_at, o.id`.execute(db);
    return rows;
  }

  /** What its owner can go on with or begin; up to `limit` beads of the city, whoever has them. */
  async assigned(streamId: number, limit: number, db: Kysely<Database> = this.db): Promise<AssignedRow[]> {
    const { rows } = await sql<AssignedRow>`
      select b.assignee, b.id, nullif(b.metadata ->> 'gc.session_id', '') as session, b.status = 'in_progress' as begun,
        b.lease_until is not null as leased, coalesce(b.updated_at, b.created_at) as at
      from beads b
      where b.stream_id = ${streamId} and b.assignee is not null and b.status <> 'closed' and (b.status = 'in_progress' or bead_is_doable(b))
      order by b.assignee, b.status, coalesce(b.priority, 2), b.created_at, b.id limit ${limit}`.execute(db);
    return rows;
  }

  /** As `offered`, for some, each of whom has a share; about `limit` beads. */
  async offeredTo(streamId: number, of: Claimants, limit: number, db: Kysely<Database> = this.db): Promise<OfferedRow[]> {
    const its = sql`select b.routed_to as route, b.id, coalesce(b.updated_at, b.created_at) as at, b.created_at from beads b
      where b.stream_id = ${streamId} and b.routed_to = w.name and bead_is_offered(b)`;
    const { rows } = await sql<OfferedRow>`
      ${having(of, limit, sql`b.routed_to`, sql`b.stream_id = ${streamId} and bead_is_offered(b)`)}
      select o.route, o.id, o.at from wanted w cross join lateral (
        (${its} order by b.created_at, b.id limit (select size from share))
        union (${its} order by b.created_at desc, b.id desc limit ${NEWEST})
      ) o order by o.route collate "C", o.created_at, o.id`.execute(db);
    return rows;
  }

  /** As `assigned`, of some, each of whom has a share; about `limit` beads, and as many that have been begun. */
  async assignedTo(streamId: number, of: Claimants, limit: number, db: Kysely<Database> = this.db): Promise<AssignedRow[]> {
    const columns = sql`b.assignee, b.id, nullif(b.metadata ->> 'gc.session_id', '') as session, b.status = 'in_progress' as begun,
      b.lease_until is not null as leased, coalesce(b.updated_at, b.created_at) as at, b.status, coalesce(b.priority, 2) as priority, b.created_at`;
    const { rows } = await sql<AssignedRow>`
      ${having(of, limit, sql`b.assignee`, sql`b.stream_id = ${streamId} and b.assignee is not null and b.status <> 'closed'`)}
      select a.assignee, a.id, a.session, a.begun, a.leased, a.at from (
        (select ${columns} from beads b
          where b.stream_id = ${streamId} and b.status = 'in_progress' and b.assignee is not null
            and (coalesce(b.metadata ->> 'gc.session_id', '') <> '' or b.assignee in (select w.name from wanted w)) limit ${limit})
        union all
        select o.* from wanted w cross join lateral (
          select ${columns} from beads b
          where b.stream_id = ${streamId} and b.assignee = w.name and b.status <> 'closed' and b.status <> 'in_progress' and bead_is_doable(b)
          order by b.status, coalesce(b.priority, 2), b.created_at, b.id limit (select size from share)) o
      ) a order by a.assignee, a.status, a.priority, a.created_at, a.id`.execute(db);
    return rows;
  }

  /** When the next deferred bead may be begun; undefined when none is deferred. */
  async nextDeferred(streamId: number, db: Kysely<Database> = this.db): Promise<Date | undefined> {
    const { rows } = await sql<{ at: Date | null }>`
      select min(b.defer_until) as at from beads b
      where b.stream_id = ${streamId} and b.status = 'open' and b.defer_until is not null and b.defer_until > now()`.execute(db);
    return rows[0]?.at ?? undefined;
  }
}
