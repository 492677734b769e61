import { Injectable } from '@nestjs/common';
import { sql, type Kysely, type RawBuilder } from 'kysely';
import type { Database } from '../../../platform/database/database.js';
import type { Tx } from '../../../platform/database/transactions.js';
import { retryDelayMs, type Phase } from '../../tenancy/cities/city-phases.js';

/** A city's row as a worker holds it: every later write demands the same `fence`, so an older holder cannot write. */
export interface HeldCity {
  readonly id: number;
  readonly name: string;
  readonly dir: string;
  readonly running: boolean;
  readonly fence: number;
}

export interface Failure {
  readonly code: string;
  readonly message: string;
  readonly failureClass: 'transient' | 'structural';
  readonly configHash: string | null;
}

/** A failed city waiting for its files to change. */
export interface FailedCity {
  readonly id: number;
  readonly dir: string;
  readonly config_hash: string | null;
  readonly due: boolean;
}

/** How long a city is held without a word of its holder. */
export const LEASE_MS = 30_000;

const LEASE = sql`clock_timestamp() + ${sql.lit(LEASE_MS / 1000)}::float8 * interval '1 second'`;
const HOLD = sql`version = c.version + 1, lease_until = ${LEASE}, updated_at = now()`;
const BEGIN = sql`phase = case when c.running then c.phase else 'loading_config' end, error = null, failure_code = null,
  failure_class = null, next_retry_at = null`;
const HELD = sql`c.id, c.name, c.dir, c.running, c.version as fence`;
const NO_OPERATION = sql`not exists (
  select from operations o where o.stream = '__supervisor__' and o.target = c.name and o.state in ('accepted', 'running'))`;

/** The state machine of a city's row, as the workers move it. */
@Injectable()
export class CityStateRepository {
  /** The statement that takes the city for an operation, also from another holder. A city that does not run is in its first phase from then on. */
  take(name: string, owner: string): RawBuilder<HeldCity> {
    return sql<HeldCity>`
      update cities c set ${HOLD}, lease_owner = ${owner}, ${BEGIN} where c.name = ${name} returning ${HELD}`;
  }

  /**
   * Keeps requests away from the city until the transaction ends; they lock it before they look at its operations. The writers of its work
   * come before: what they have begun is told before the city is told as stopped.
   */
  async lockWork(tx: Tx, name: string): Promise<void> {
    await sql`
      with begun as materialized (select c.id, begin_work(c.stream_id) from cities c where c.name = ${name})
      select c.id from begun b join cities c on c.id = b.id for update of c`.execute(tx);
  }

  /** Takes one failed city for a retry, unless it is locked, held, stopped or an operation works on it. */
  async takeForRetry(db: Kysely<Database>, id: number, owner: string): Promise<HeldCity | undefined> {
    const { rows } = await sql<HeldCity>`
      update cities c set ${HOLD}, lease_owner = ${owner}, ${BEGIN}
      where c.id = (
        select id from cities where id = ${id} and not running and desired = 'running'
          and (phase = 'init_failed' or lease_until is null or lease_until < clock_timestamp())
        for update skip locked
      ) and ${NO_OPERATION} returning ${HELD}`.execute(db);
    return rows[0];
  }

  /** Whether there are cities that should run and do not, also when a worker is at them. */
  readonly isWaiting = sql<boolean>`exists (select from cities c where not c.running and c.desired = 'running'
    and (c.phase = 'init_failed' or c.lease_until is null or c.lease_until < clock_timestamp()))`;

  /** Cities that wait for a retry, and those whose worker vanished in the middle of one. */
  async waiting(db: Kysely<Database>, limit: number): Promise<FailedCity[]> {
    const { rows } = await sql<FailedCity>`
      select c.id, c.dir, c.config_hash,
             c.phase <> 'init_failed' or c.next_retry_at is null or c.next_retry_at <= clock_timestamp() as due
      from cities c
      where not c.running and c.desired = 'running'
        and (c.phase = 'init_failed' or c.lease_until is null or c.lease_until < clock_timestamp())
        and ${NO_OPERATION}
      order by due desc, c.next_retry_at limit ${limit}`.execute(db);
    return rows;
  }

  /** What the files of a failed city are like, when its failure did not say. */
  async rememberFiles(db: Kysely<Database>, id: number, configHash: string): Promise<void> {
    await sql`update cities set config_hash = ${configHash} where id = ${id} and phase = 'init_failed' and config_hash is null`.execute(db);
  }

  /** Keeps the lease where no phase has been published for long. False when somebody else holds the city now. */
  async renew(db: Kysely<Database>, held: HeldCity): Promise<boolean> {
    const { numAffectedRows } = await sql`
      update cities set lease_until = ${LEASE} where id = ${held.id} and version = ${held.fence} and not running`.execute(db);
    return numAffectedRows === 1n;
  }

  /** The statement that publishes a phase and keeps the lease. It returns nothing when somebody else holds the city now. */
  publish(held: HeldCity, phase: Phase): RawBuilder<{ id: number }> {
    return sql<{ id: number }>`
      update cities c set phase = ${phase}, lease_until = ${LEASE}, updated_at = now()
      where c.id = ${held.id} and c.version = ${held.fence} and not c.running returning c.id`;
  }

  /** The city runs from now on. Answers its stream's id; undefined when somebody else holds the city now. */
  async succeed(tx: Tx, held: HeldCity, configHash: string): Promise<number | undefined> {
    const { rows } = await sql<{ stream_id: number }>`
      update cities c set version = c.version + 1, updated_at = now(), running = true, phase = 'running', started_at = now(), failures = 0,
        error = null, failure_code = null, failure_class = null, next_retry_at = null, lease_owner = null, lease_until = null,
        config_hash = ${configHash}
      where c.id = ${held.id} and c.version = ${held.fence} and not c.running and c.desired = 'running'
      returning c.stream_id`.execute(tx);
    return rows[0]?.stream_id;
  }

  async fail(tx: Tx, held: HeldCity, failure: Failure): Promise<boolean> {
    return this.#fail(tx, failure, sql`c.id = ${held.id} and c.version = ${held.fence}`);
  }

  /** The operation ended from outside (deadline, attempts used up): its worker loses the city. */
  async failByName(tx: Tx, name: string, failure: Failure): Promise<boolean> {
    return this.#fail(tx, failure, sql`c.name = ${name}`);
  }

  async #fail(tx: Tx, failure: Failure, which: ReturnType<typeof sql>): Promise<boolean> {
    const { rows } = await sql<{ id: number; failures: number }>`
      update cities c set version = c.version + 1, phase = 'init_failed', error = ${failure.message}, failure_code = ${failure.code},
        failure_class = ${failure.failureClass}, failures = c.failures + 1, config_hash = ${failure.configHash},
        lease_owner = null, lease_until = null, updated_at = now()
      where ${which} and not c.running and c.desired = 'running' returning c.id, c.failures`.execute(tx);
    const row = rows[0];
    if (row === undefined) return false;
    await sql`update cities set next_retry_at = now() + ${retryDelayMs(row.failures) / 1000}::float8 * interval '1 second'
      where id = ${row.id}`.execute(tx);
    return true;
  }

  /** The end of a stop. Answers whether the city was running until now; undefined when it is not registered. */
  async stop(tx: Tx, name: string): Promise<boolean | undefined> {
    const row = await tx.selectFrom('cities').select(['id', 'running']).where('name', '=', name).forUpdate().executeTakeFirst();
    if (row === undefined) return undefined;
    await sql`
      update cities c set version = c.version + 1, updated_at = now(), running = false, phase = 'stopped', desired = 'stopped', started_at = null, error = null,
        failure_code = null, failure_class = null, failures = 0, next_retry_at = null, lease_owner = null, lease_until = null
      where c.id = ${row.id}`.execute(tx);
    return row.running;
  }

  /** A stop that could not be carried out leaves the city as it was: running, or to be tried again. */
  async revertStop(tx: Tx, name: string): Promise<void> {
    await sql`update cities set desired = 'running' where name = ${name} and (running or phase <> 'stopped')`.execute(tx);
  }
}
