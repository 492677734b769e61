import { Injectable } from '@nestjs/common';
import { sql, type Kysely } from 'kysely';
import type { Database } from '../../../platform/database/database.js';
import type { Tx } from '../../../platform/database/transactions.js';
import type { ProbeResult } from './providers.catalogue.js';

export interface PublishedRow {
  readonly item: string;
  readonly status: string;
  readonly detail: string | null;
  readonly version: string | null;
}

/** A host counts while its process beats. */
const LIVE = sql`p.role in ('all', 'worker') and p.stopped_at is null and p.heartbeat_at > now() - interval '10 seconds'`;

/** What worker hosts found, and who of them is alive. */
@Injectable()
export class ProvidersRepository {
  async published(db: Kysely<Database>, items: readonly string[]): Promise<PublishedRow[]> {
    const { rows } = await sql<PublishedRow>`
      select r.item, r.status, r.detail, r.version from provider_readiness r join processes p on p.id = r.process_id
      where r.item = any(${[...items]}::text[]) and ${LIVE} order by r.process_id`.execute(db);
    return rows;
  }

  /** One row a live worker host and item: what it published, null when it has not looked yet. */
  async byHost(db: Kysely<Database>, items: readonly string[]): Promise<{ item: string; status: string | null }[]> {
    const { rows } = await sql<{ item: string; status: string | null }>`
      select i.item, r.status from unnest(${[...items]}::text[]) as i (item) cross join processes p
        left join provider_readiness r on r.process_id = p.id and r.item = i.item
      where ${LIVE}`.execute(db);
    return rows;
  }

  /** Of the given items those that this host has looked at and cannot use. */
  async notReadyAt(db: Kysely<Database>, processId: string, items: readonly string[]): Promise<PublishedRow[]> {
    const { rows } = await sql<PublishedRow>`
      select item, status, detail, version from provider_readiness
      where process_id = ${processId} and item = any(${[...items]}::text[]) and status <> 'configured'`.execute(db);
    return rows;
  }

  /** Asks every live worker host to probe now; answers the time of the request by the database's clock. */
  async requestProbe(tx: Tx): Promise<string> {
    const { rows } = await sql<{ at: string }>`
      with at as (select clock_timestamp() as at),
      asked as (update processes p set probe_requested_at = at.at from at where ${LIVE})
      select at::text as at from at`.execute(tx);
    return rows[0]!.at;
  }

  /** How many live worker hosts have not published since `at`. */
  async outstanding(db: Kysely<Database>, at: string): Promise<number> {
    const { rows } = await sql<{ n: number }>`
      select count(*) as n from processes p
      where ${LIVE} and not exists (
        select from provider_readiness r where r.process_id = p.id and r.checked_at >= ${at}::timestamptz)`.execute(db);
    return rows[0]!.n;
  }

  async publish(tx: Tx, processId: string, results: ReadonlyMap<string, ProbeResult>): Promise<void> {
    const rows = [...results].map(([item, { status, detail, version }]) => ({
      item,
      status,
      detail: detail ?? null,
      version: version ?? null,
    }));
    await sql`
      insert into provider_readiness as r (process_id, item, status, detail, version, checked_at)
      select ${processId}, v.item, v.status, v.detail, v.version, clock_timestamp()
      from json_to_recordset(${JSON.stringify(rows)}::json) as v(item text, status text, detail text, version text)
      where exists (select from processes where id = ${processId})
      on conflict (process_id, item) do update
        set status = excluded.status, detail = excluded.detail, version = excluded.version, checked_at = excluded.checked_at`.execute(tx);
  }
}
