import { Injectable } from '@nestjs/common';
import { sql } from 'kysely';
import { Db } from '../../../platform/database/database.js';
import type { Tx } from '../../../platform/database/transactions.js';
import type { Condition, ServiceRow } from './service-row.js';

export interface Claimed extends ServiceRow {
  /** Who had it before and has not given it back. */
  readonly before: string | null;
  /** The name of its city, and of that city's stream. */
  readonly city: string;
}

/** What its owner has to know of a service while it runs. */
export type Order = Pick<ServiceRow, 'pk' | 'wanted' | 'generation'>;

/** What is published with a condition. */
export interface Published {
  readonly condition: Condition;
  /** Where it is reached, from now on until the next condition. */
  readonly reached?: { readonly address: string; readonly instance: string };
  readonly failures?: number;
  readonly retryAt?: Date | null;
}

/** The SQL of owning services: every write asks whether they are the owner's still. */
@Injectable()
export class ServiceLeasesRepository {
  constructor(private readonly db: Db) {}

  readonly isDue = sql<boolean>`exists (
    select from services s where (s.wanted or s.worker is not null) and (s.worker is null or s.lease_until < now()))`;

  /**
   * Takes one that nobody has, and that is to run or has to be put away: of the cities of which the fewest run.
   *
   * @param few only of cities of which the worker has fewer than that
   */
  async claim(tx: Tx, worker: string, leaseMs: number, few = Infinity): Promise<Claimed | undefined> {
    const { rows } = await sql<Claimed>`
      with running as (
        select stream_id, count(*) as all, count(*) filter (where worker = ${worker}) as own from services
        where worker is not null and lease_until >= now() group by stream_id),
      free as (
        select s.pk, s.worker from services s left join running r on r.stream_id = s.stream_id
        where (s.wanted or s.worker is not null) and (s.worker is null or s.lease_until < now())
          and (not s.wanted or coalesce(r.own, 0) < ${few}::float8)
        order by coalesce(r.all, 0), s.pk limit 1 for update of s skip locked)
      update services s set worker = ${worker}, lease_until = now() + ${leaseMs} * interval '1 millisecond', address = null, instance = null
      from free f, event_streams e where s.pk = f.pk and e.id = s.stream_id
      returning s.*, f.worker as before, e.name as city`.execute(tx);
    return rows[0];
  }

  /** Renews the leases of a worker. What of it is not answered is another's. */
  async renew(worker: string, pks: readonly number[], leaseMs: number): Promise<Order[]> {
    const { rows } = await sql<Order>`
      update services set lease_until = now() + ${leaseMs} * interval '1 millisecond'
      where pk = any(${[...pks]}::bigint[]) and worker = ${worker} returning pk, wanted, generation`.execute(this.db);
    return rows;
  }

  async orders(worker: string): Promise<Order[]> {
    const { rows } = await sql<Order>`select pk, wanted, generation from services where worker = ${worker}`.execute(this.db);
    return rows;
  }

  /** The row of a service as long as it is this worker's. */
  async own(pk: number, worker: string): Promise<ServiceRow | undefined> {
    const { rows } = await sql<ServiceRow>`select * from services where pk = ${pk} and worker = ${worker}`.execute(this.db);
    return rows[0];
  }

  /** One more process of it: the number marks it on its host. Undefined when it is another's. */
  async begin(pk: number, worker: string): Promise<number | undefined> {
    const { rows } = await sql<{ attempts: number }>`
      update services set attempts = attempts + 1 where pk = ${pk} and worker = ${worker} returning attempts`.execute(this.db);
    return rows[0]?.attempts;
  }

  /**
   * Undefined when it is another's, or was told something else meanwhile.
   *
   * @returns whether this is news
   */
  async publish(tx: Tx, row: Pick<ServiceRow, 'pk' | 'generation'>, worker: string, published: Published): Promise<boolean | undefined> {
    const { state, localState, reason = null, detail = null } = published.condition;
    const { address = null, instance = null } = published.reached ?? {};
    const { rows } = await sql<{ changed: boolean }>`
      with known as (select * from services where pk = ${row.pk} and worker = ${worker} and generation = ${row.generation}
        and (wanted or ${state}::text in ('stopping', 'stopped')) for update)
      update services s set state = ${state}, local_state = ${localState}, reason = ${reason}::text, detail = ${detail}::text,
        address = ${address}::text, instance = ${instance}::text,
        failures = coalesce(${published.failures ?? null}::integer, s.failures),
        retry_at = ${published.retryAt ?? null}::timestamptz,
        updated_at = case when (k.state, k.local_state, k.reason, k.detail) is distinct from (${state}, ${localState}, ${reason}::text, ${detail}::text)
          then now() else s.updated_at end
      from known k where s.pk = k.pk
      returning (k.state, k.local_state, k.reason, k.detail) is distinct from (${state}, ${localState}, ${reason}::text, ${detail}::text) as changed`.execute(
      tx,
    );
    return rows[0]?.changed;
  }

  /** Lets go of it; one that no file names any more is forgotten. */
  async release(tx: Tx, pk: number, worker: string): Promise<void> {
    await sql`
      update services set worker = null, lease_until = null, address = null, instance = null where pk = ${pk} and worker = ${worker}`.execute(
      tx,
    );
    await sql`delete from services where pk = ${pk} and not present and worker is null`.execute(tx);
  }
}
