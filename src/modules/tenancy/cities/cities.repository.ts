import { Injectable } from '@nestjs/common';
import { sql, type Kysely, type Selectable } from 'kysely';
import { PgPool, type Database } from '../../../platform/database/database.js';
import { fitted, PAGE_BYTES, type Fitted } from '../../../platform/database/page-bytes.js';
import { GatheredReads } from '../../../platform/database/gathered-reads.js';
import type { Cities } from '../../../platform/database/schema.gen.js';
import type { Tx } from '../../../platform/database/transactions.js';
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
export type RunningCityRow = Pick<CityRow, 'name' | 'dir' | 'provider' | 'session_template' | 'agent_count' | 'rig_count'> & {
  /** A person's choice wins over what the files say. */
  readonly suspended: boolean;
  readonly uptime: number;
};

type ScopeRow = Pick<CityRow, 'id' | 'name' | 'dir' | 'stream_id'>;

const RUNNING_COLUMNS = `c.name, c.dir, c.provider, coalesce(c.suspended, c.suspended_on_start) as suspended, c.session_template, c.agent_count, c.rig_count,
  floor(date_part('epoch', now() - coalesce(c.started_at, now()))) as uptime`;

/** About what the JSON of a city takes. */
const CITY_BYTES = `(200 + octet_length(dir) + case when running then 0 else coalesce(octet_length(error), 0) end)`;

/** All SQL about registered cities that answers requests. The reconciler's is in `city-state.repository.ts`. */
@Injectable()
export class CitiesRepository {
  readonly #scopes = this.#gathered<ScopeRow>('city-running', 'c.id, c.name, c.dir, c.stream_id');
  readonly #running = this.#gathered<RunningCityRow>('city-running-whole', RUNNING_COLUMNS);

  constructor(private readonly pool: PgPool) {}

  /** The hot path of every per-city request. */
  async findRunning(name: string): Promise<CityScope | undefined> {
    const row = await this.#scopes.read(name);
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

  loadRunning(name: string): Promise<RunningCityRow | undefined> {
    return this.#running.read(name);
  }

  /** Rows of running cities by their names; one at a time by the unique index, whatever the planner thinks of how many there are. */
  #gathered<Row extends { readonly name: string }>(name: string, columns: string): GatheredReads<string, Row> {
    const text = `select r.* from unnest((select $1::text[])) as asked(name)
      cross join lateral (select ${columns} from cities c where c.name = asked.name and c.running limit 1) r`;
    const load = async (names: readonly string[]): Promise<(readonly [string, Row])[]> => {
      const { rows } = await this.pool.query<Row>({ name, text, values: [names] });
      return rows.map((row) => [row.name, row] as const);
    };
    return new GatheredReads(load, { lanes: 2 });
  }

  async findByName(db: Kysely<Database>, name: string): Promise<CityRow | undefined> {
    return db.selectFrom('cities').selectAll().where('name', '=', name).executeTakeFirst();
  }

  /** The cities that have the name or the directory: two at most. */
  async findByEither(db: Kysely<Database>, name: string, dir: string): Promise<CityRow[]> {
    return db
      .selectFrom('cities')
      .selectAll()
      .where((eb) => eb.or([eb('name', '=', name), eb('dir', '=', dir)]))
      .execute();
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
