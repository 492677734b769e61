import { Injectable } from '@nestjs/common';
import { sql } from 'kysely';
import { Db, PgPool } from '../../../platform/database/database.js';
import type { Tx } from '../../../platform/database/transactions.js';
import type { ServiceRow } from './service-row.js';

/** A service as requests for it find it, of a city that runs. */
export interface Routed extends Pick<ServiceRow, 'pk' | 'definition' | 'state' | 'local_state' | 'reason' | 'address' | 'instance'> {
  /** Its owner has said lately that it lives. */
  readonly owned: boolean;
}

/** One that has waited for a worker for this long is said to. */
const NO_PLACE_MS = 5_000;

export interface ListedService extends ServiceRow {
  /** It is to run, and no worker has taken it for a while. */
  readonly waits: boolean;
}

/** The SQL of services that answers requests. */
@Injectable()
export class ServicesRepository {
  constructor(
    private readonly db: Db,
    private readonly pool: PgPool,
  ) {}

  /** By name, with the head of the city's stream in the same snapshot. */
  async list(streamId: number, name?: string): Promise<{ rows: ListedService[]; head: number }> {
    const { rows } = await sql<ListedService & { head: number; name: string | null }>`
      select s.*, e.head, s.wanted and (s.worker is null or s.lease_until < now()) and s.updated_at < now() - ${NO_PLACE_MS} * interval '1 ms' as waits
      from event_streams e left join services s on s.stream_id = e.id and s.present
        and (${name ?? null}::text is null or s.name = ${name ?? null}::text)
      where e.id = ${streamId} order by s.name`.execute(this.db);
    return { rows: rows.filter((row) => row.name !== null), head: rows[0]?.head ?? 0 };
  }

  /**
   * All that it takes to let a request through, in one snapshot: nothing is held while it is answered. Undefined: no such city runs;
   * null: it has no such service.
   */
  async route(city: string, name: string): Promise<Routed | null | undefined> {
    const { rows } = await this.pool.query<Omit<Routed, 'pk'> & { pk: number | null }>({
      name: 'service-route',
      text: `select s.pk, s.definition, s.state, s.local_state, s.reason, s.address, s.instance, coalesce(s.worker is not null and s.lease_until > now(), false) as owned
        from cities c left join services s on s.stream_id = c.stream_id and s.name = $2 and s.present where c.name = $1 and c.running`,
      values: [city, name],
    });
    const row = rows[0];
    if (row === undefined) return undefined;
    return row.pk === null ? null : { ...row, pk: row.pk };
  }

  /** Has its process begin anew, at once. Undefined when there is none of the name. */
  async restart(tx: Tx, streamId: number, name: string): Promise<ServiceRow | undefined> {
    const { rows } = await sql<ServiceRow>`
      update services s set generation = generation + 1, failures = 0, retry_at = null, address = null, instance = null,
        state = case when not wanted then state when worker is null then 'starting' else 'stopping' end,
        local_state = case when not wanted then local_state when worker is null then 'starting' else 'stopping' end,
        reason = case when wanted then 'restart_requested' else reason end, detail = case when wanted then null else detail end,
        updated_at = case when wanted then now() else updated_at end
      where stream_id = ${streamId} and name = ${name} and present returning *`.execute(tx);
    return rows[0];
  }
}
