import { Injectable } from '@nestjs/common';
import { sql, type Kysely, type Selectable } from 'kysely';
import { Db, PgPool, type Database } from '../../platform/database/database.js';
import { fitted, PAGE_BYTES, type Fitted } from '../../platform/database/page-bytes.js';
import type { Cities } from '../../platform/database/schema.gen.js';
import type { Tx } from '../../platform/database/transactions.js';
import { CAUSED, CHURN_MS, ENDS_BY_HAND, MAX_CHURN_MS, type Resting } from '../sessions/session-rest.js';
import type { CitiesQuery } from './cities.schemas.js';
import type { CityScope } from './city-scope.js';

export type CityRow = Selectable<Cities>;

export interface NewCity {
  readonly name: string;
  readonly dir: string;
  readonly streamId: number;
  readonly provider?: string | undefined;
  readonly startCommand?: string | undefined;
  readonly profile?: string | undefined;
}

export interface CityListRow {
  readonly name: string;
  readonly dir: string;
  /** What is to say of a city that is not running. */
  readonly state: {
    readonly phase: string;
    readonly error: string | null;
    readonly failure_code: string | null;
    readonly failure_class: 'transient' | 'structural' | null;
    readonly next_retry_at: string | null;
  } | null;
}

/** What a running city's own pages show. */
export type RunningCityRow = Pick<
  CityRow,
  'name' | 'dir' | 'provider' | 'suspended' | 'suspended_on_start' | 'session_template' | 'agent_count' | 'rig_count'
> & { readonly uptime: number };

const RUNNING_COLUMNS = `c.name, c.dir, c.provider, c.suspended, c.suspended_on_start, c.session_template, c.agent_count, c.rig_count,
  floor(date_part('epoch', now() - coalesce(c.started_at, now()))) as uptime`;

/** What the status of a city shows: beside its own row, the head of its log, its unfinished beads, its mail and its sessions. */
export type StatusRow = RunningCityRow &
  Readonly<Record<'stream_id' | 'head' | 'open' | 'in_progress' | 'ready' | 'mail' | 'unread', number>> &
  Readonly<Record<'live' | 'active_sessions' | 'suspended_sessions' | 'live_agents' | 'quarantined_agents', number>>;

/** A session that is not started for now, as far as its row says it. */
export type RestingRow = Resting & { readonly id: string; readonly name: string; readonly now: Date };
export interface RestingRows {
  readonly total: number;
  /** The first of them. */
  readonly rows: readonly RestingRow[];
}
const RESTING_SHOWN = 20;

/** What of a city waits for runners, and what places these have. */
export interface WantingRow {
  readonly waiting: number;
  readonly places: number;
  readonly taken: number;
  readonly runners: number;
  /** Of those that are taken. */
  readonly own: number;
}

const COUNTS = `cross join lateral (
    select count(*) filter (where b.status = 'open') as open, count(*) filter (where b.status = 'in_progress') as in_progress,
      (select count(*) from beads b where b.stream_id = c.stream_id and bead_is_ready(b)) as ready
    from beads b where b.stream_id = c.stream_id and b.status <> 'closed'
  ) w cross join lateral mail_counts(c.stream_id) m cross join lateral (
    select count(*) filter (where x.live) as live, count(*) filter (where x.state in ('creating', 'active', 'draining')) as active_sessions,
      count(*) filter (where x.state = 'suspended') as suspended_sessions,
      count(distinct x.agent) filter (where x.live) as live_agents,
      count(distinct x.agent) filter (where x.state = 'quarantined') as quarantined_agents
    from sessions x where x.stream_id = c.stream_id and x.state <> 'closed'
  ) n`;
const NOT_COUNTED = `0 as open, 0 as in_progress, 0 as ready, 0 as mail, 0 as unread, 0 as live, 0 as active_sessions, 0 as suspended_sessions,
  0 as live_agents, 0 as quarantined_agents`;

/** About what the JSON of a city takes. */
const CITY_BYTES = `(200 + octet_length(dir) + case when running then 0 else coalesce(octet_length(error), 0) end)`;

/** All SQL about registered cities that answers requests. The reconciler's is in `city-state.repository.ts`. */
@Injectable()
export class CitiesRepository {
  constructor(
    private readonly db: Db,
    private readonly pool: PgPool,
  ) {}

  /** The hot path of every per-city request: one prepared statement over the unique index of the name. */
  async findRunning(name: string): Promise<CityScope | undefined> {
    const { rows } = await this.pool.query<{ id: number; name: string; dir: string; stream_id: number }>({
      name: 'city-running',
      text: 'select id, name, dir, stream_id from cities where name = $1 and running',
      values: [name],
    });
    const row = rows[0];
    return row && { id: row.id, name: row.name, path: row.dir, stream: row.name, streamId: row.stream_id };
  }

  /** Whether it is registered and is to run, whatever keeps it from that. */
  async isWanted(name: string): Promise<boolean> {
    const { rows } = await this.pool.query(`select 1 from cities where name = $1 and desired = 'running'`, [name]);
    return rows.length === 1;
  }

  /**
   * Every city, or those of `names`, in byte order of the name (the column's collation). Three columns, because the
   * driver's work per column is most of the cost of a list of ten thousand.
   */
  async list(
    { limit, cursor = '' }: CitiesQuery,
    names?: readonly string[],
  ): Promise<{ rows: readonly CityListRow[]; more: boolean; total: number }> {
    const mine = names === undefined ? '' : 'and name = any($3::text[])';
    const { rows } = await this.pool.query<CityListRow & Fitted & { total: number }>({
      name: names === undefined ? 'cities-list' : 'cities-list-some',
      text: `select name, dir, state, total, nth = 1 or (nth <= $2 and upto <= ${PAGE_BYTES}) as fits from (
          select name, dir, case when running then null else json_build_object('phase', phase, 'error', error,
              'failure_code', failure_code, 'failure_class', failure_class, 'next_retry_at', next_retry_at) end as state,
            sum(${CITY_BYTES}) over w as upto, ${CITY_BYTES} as bytes, row_number() over w as nth, (select count(*) from cities where true ${mine}) as total
          from cities where name > $1 ${mine} window w as (order by name rows unbounded preceding)) p
        where nth <= $2 + 1 and (upto - bytes <= ${PAGE_BYTES} or nth = 2) order by name`,
      values: names === undefined ? [cursor, limit] : [cursor, limit, names],
    });
    const page = fitted(rows);
    return { ...page, total: rows[0]?.total ?? (await this.#count(names)) };
  }

  async #count(names: readonly string[] | undefined): Promise<number> {
    const { rows } = await this.pool.query<{ n: number }>({
      text: 'select count(*) as n from cities where $1::text[] is null or name = any($1::text[])',
      values: [names ?? null],
    });
    return rows[0]!.n;
  }

  async loadRunning(name: string): Promise<RunningCityRow | undefined> {
    const { rows } = await this.pool.query<RunningCityRow>({
      name: 'city-running-whole',
      text: `select ${RUNNING_COLUMNS} from cities c where c.name = $1 and c.running`,
      values: [name],
    });
    return rows[0];
  }

  /** The same with the head of its stream and, when asked, the counts of its work and mail, in one snapshot. */
  async loadRunningAtHead(name: string, counted: boolean): Promise<StatusRow | undefined> {
    const { rows } = await this.pool.query<StatusRow>({
      name: counted ? 'city-running-counted' : 'city-running-at-head',
      text: `select ${RUNNING_COLUMNS}, s.id as stream_id, s.head, ${counted ? 'w.*, m.total as mail, m.unread, n.*' : NOT_COUNTED}
        from cities c join event_streams s on s.id = c.stream_id ${counted ? COUNTS : ''} where c.name = $1 and c.running`,
      values: [name],
    });
    return rows[0];
  }

  async resting(name: string): Promise<RestingRows> {
    const { rows } = await this.pool.query<RestingRow & { total: number }>({
      name: 'city-resting',
      text: `select count(*) over ()::int as total, x.id, coalesce(x.agent_name, x.session_name) as name, x.state, x.state_at, x.reason,
          x.origin, x.runner_id, x.live, x.wake_request, x.start_deadline, x.not_before, x.quarantined_until, x.circuit_until, x.failed_starts, x.churns,
          x.failure, h.id as active_bead, clock_timestamp() as now
        from cities c join sessions x on x.stream_id = c.stream_id
        left join lateral (select b.id from beads b where x.churns > 0 and x.state = 'asleep' and x.wake_request is null
          and x.state_at + least($3::float8, $4::float8 * 2 ^ least(x.churns - 1, 30)) * interval '1 ms' > clock_timestamp()
          and coalesce(x.reason, '') <> all($5::text[])
          and b.stream_id = x.stream_id and b.status = 'in_progress' and (b.labels <> '{}' or b.metadata <> '{}')
          and bead_terms(b.stream_id, b.labels, b.metadata) @> bead_terms(x.stream_id, '{}', jsonb_build_object('gc.session_id', x.id))
          and b.metadata ->> 'gc.session_id' = x.id order by b.updated_at desc nulls last, b.id limit 1) h on true
        where c.name = $1 and x.state <> 'closed' and not x.live and x.runner_id is null and (x.state in ('failed-create', 'quarantined')
          or x.state in ('asleep', 'start-pending') and (x.not_before > clock_timestamp() or x.reason = any($2::text[])) or h.id is not null)
        order by x.pk limit ${RESTING_SHOWN}`,
      values: [name, ENDS_BY_HAND, MAX_CHURN_MS, CHURN_MS, CAUSED],
    });
    return { total: rows[0]?.total ?? 0, rows };
  }

  /** Sessions of the city that have been wanted for 2 s and that no runner has, and the places there are. */
  async wanting(name: string): Promise<WantingRow> {
    const { rows } = await this.pool.query<WantingRow>({
      name: 'city-wanting',
      text: `select coalesce(w.waiting, 0)::int as waiting, p.places::int, p.taken::int, p.runners::int, coalesce(w.own, 0)::int as own from (
          select coalesce(sum(r.capacity), 0) as places, count(*) as runners,
            coalesce(sum((select count(*) from sessions x where x.runner_id = r.id)), 0) as taken
          from runners r where r.state = 'active' and r.lease_until > clock_timestamp()
        ) p left join lateral (
          select (select count(*) from sessions x where x.stream_id = c.stream_id and x.wake_request is not null and x.runner_id is null
              and x.state in ('start-pending', 'asleep') and x.stop_request is null
              and greatest(x.wake_requested_at, x.not_before, x.held_until, x.quarantined_until) < clock_timestamp() - interval '2 s') as waiting,
            (select count(*) from sessions x where x.stream_id = c.stream_id and x.runner_id is not null) as own
          from cities c where c.name = $1
        ) w on true`,
      values: [name],
    });
    return rows[0]!;
  }

  async findByName(db: Kysely<Database>, name: string): Promise<CityRow | undefined> {
    return db.selectFrom('cities').selectAll().where('name', '=', name).executeTakeFirst();
  }

  async findByDir(db: Kysely<Database>, dir: string): Promise<CityRow | undefined> {
    return db.selectFrom('cities').selectAll().where('dir', '=', dir).executeTakeFirst();
  }

  /** The row, locked: what is decided from it holds until the transaction ends. */
  async lock(tx: Tx, name: string): Promise<CityRow | undefined> {
    return tx.selectFrom('cities').selectAll().where('name', '=', name).forUpdate().executeTakeFirst();
  }

  /** As `lock`, after the writers of the city's work: who removes the row has them all behind him, and no more come. */
  async lockWork(tx: Tx, name: string): Promise<CityRow | undefined> {
    await sql`select begin_work(c.stream_id) from cities c where c.name = ${name}`.execute(tx);
    return this.lock(tx, name);
  }

  async insert(tx: Tx, city: NewCity): Promise<void> {
    await tx
      .insertInto('cities')
      .values({
        name: city.name,
        dir: city.dir,
        stream_id: city.streamId,
        provider: city.provider ?? null,
        start_command: city.startCommand ?? null,
        bootstrap_profile: city.profile ?? null,
      })
      .execute();
  }

  async delete(tx: Tx, id: number): Promise<void> {
    await tx.deleteFrom('cities').where('id', '=', id).execute();
  }

  /** What the city shall be. Raises `version`, so that a retry in progress loses its hold on the row. */
  async setDesired(tx: Tx, id: number, desired: 'running' | 'stopped'): Promise<void> {
    await tx
      .updateTable('cities')
      .set((eb) => ({ desired, version: eb('version', '+', 1), updated_at: sql<Date>`now()` }))
      .where('id', '=', id)
      .execute();
  }

  /** A city about to be initialized again: no failure, first phase. */
  async resetForStart(tx: Tx, id: number): Promise<void> {
    await tx
      .updateTable('cities')
      .set((eb) => ({
        desired: 'running',
        phase: 'loading_config',
        error: null,
        failure_code: null,
        failure_class: null,
        failures: 0,
        next_retry_at: null,
        version: eb('version', '+', 1),
        updated_at: sql<Date>`now()`,
      }))
      .where('id', '=', id)
      .execute();
  }

  /** False when the city is not running (any more). */
  async setSuspended(tx: Tx, id: number, suspended: boolean): Promise<boolean> {
    const result = await tx
      .updateTable('cities')
      .set({ suspended, updated_at: sql<Date>`now()` })
      .where('id', '=', id)
      .where('running', '=', true)
      .executeTakeFirst();
    return result.numUpdatedRows === 1n;
  }
}
