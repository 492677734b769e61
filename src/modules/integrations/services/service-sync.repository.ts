import { Injectable } from '@nestjs/common';
import { sql } from 'kysely';
import type { Tx } from '../../../platform/database/transactions.js';
import type { ServiceDefinition } from './service-definition.js';
import type { Condition, ServiceRow } from './service-row.js';

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
}
