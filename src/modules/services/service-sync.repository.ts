import { Injectable } from '@nestjs/common';
import { sql } from 'kysely';
import { Db } from '../../platform/database/database.js';
import type { Tx } from '../../platform/database/transactions.js';
import type { ServiceDefinition } from './service-definition.js';
import type { Condition, ServiceRow } from './service-row.js';

export interface UnsyncedCity {
  readonly name: string;
  readonly streamId: number;
}

export interface SyncedService {
  readonly name: string;
  readonly definition: ServiceDefinition;
  readonly present: boolean;
  readonly wanted: boolean;
  /** Its process, if it has one, begins anew. */
  readonly again: boolean;
  readonly condition: Condition;
}

/** The SQL of following what the files of cities say of their services. */
@Injectable()
export class ServiceSyncRepository {
  constructor(private readonly db: Db) {}

  /** Cities that have moved on since their services were looked at, and those that are registered no more. */
  async unsynced(limit: number): Promise<UnsyncedCity[]> {
    const { rows } = await sql<UnsyncedCity>`
      select e.name, e.id as "streamId" from event_streams e where e.id in (
        (select c.stream_id from cities c join config_states s on s.stream_id = c.stream_id
          left join service_cities v on v.stream_id = c.stream_id
          where s.revision > 0 and (s.revision is distinct from v.revision or c.running is distinct from v.running) limit ${limit})
        union all
        (select v.stream_id from service_cities v where not exists (select from cities c where c.stream_id = v.stream_id) limit ${limit}))`.execute(
      this.db,
    );
    return rows;
  }

  /** The row of a city, which is made when there is none; false while somebody else has it. */
  async lock(tx: Tx, streamId: number): Promise<boolean> {
    await sql`insert into service_cities (stream_id) values (${streamId}) on conflict do nothing`.execute(tx);
    const { rows } = await sql`select 1 from service_cities where stream_id = ${streamId} for update skip locked`.execute(tx);
    return rows.length > 0;
  }

  /** Whether a city runs; undefined for one that is not registered. */
  async running(tx: Tx, streamId: number): Promise<boolean | undefined> {
    const { rows } = await sql<{ running: boolean }>`select running from cities where stream_id = ${streamId}`.execute(tx);
    return rows[0]?.running;
  }

  async services(tx: Tx, streamId: number): Promise<ServiceRow[]> {
    const { rows } = await sql<ServiceRow>`select * from services where stream_id = ${streamId} order by name for update`.execute(tx);
    return rows;
  }

  async save(tx: Tx, streamId: number, services: readonly SyncedService[]): Promise<void> {
    const rows = services.map(({ name, definition, present, wanted, again, condition: { state, localState, reason, detail } }) => ({
      ...{ name, definition, present, wanted, again, state },
      ...{ local_state: localState, reason: reason ?? null, detail: detail ?? null },
    }));
    await sql`
      insert into services as s (stream_id, name, definition, present, wanted, state, local_state, reason, detail, updated_at)
      select ${streamId}, r.name, r.definition, r.present, r.wanted, r.state, r.local_state, r.reason, r.detail, now()
      from jsonb_to_recordset(${JSON.stringify(rows)}::jsonb) as r(name text, definition jsonb, present boolean, wanted boolean,
        state text, local_state text, reason text, detail text)
      on conflict (stream_id, name) do nothing`.execute(tx);
    await sql`
      update services s set definition = r.definition, present = r.present, wanted = r.wanted, generation = s.generation + r.again::int,
        failures = case when r.again then 0 else s.failures end, retry_at = case when r.again then null else s.retry_at end,
        address = case when r.again or not r.wanted then null else s.address end,
        instance = case when r.again or not r.wanted then null else s.instance end,
        state = r.state, local_state = r.local_state, reason = r.reason, detail = r.detail,
        updated_at = case when (s.state, s.local_state, s.reason, s.detail) is distinct from (r.state, r.local_state, r.reason, r.detail)
          then now() else s.updated_at end
      from jsonb_to_recordset(${JSON.stringify(rows)}::jsonb) as r(name text, definition jsonb, present boolean, wanted boolean, again boolean,
        state text, local_state text, reason text, detail text)
      where s.stream_id = ${streamId} and s.name = r.name`.execute(tx);
    // What no file names any more, and nobody has.
    await sql`delete from services where stream_id = ${streamId} and not present and worker is null`.execute(tx);
  }

  /** @param seen undefined for a city that is not registered any more */
  async saveCity(tx: Tx, streamId: number, seen: { revision: number; running: boolean } | undefined): Promise<void> {
    if (seen === undefined) await sql`delete from service_cities where stream_id = ${streamId}`.execute(tx);
    else
      await sql`update service_cities set revision = ${seen.revision}, running = ${seen.running} where stream_id = ${streamId}`.execute(tx);
  }
}
