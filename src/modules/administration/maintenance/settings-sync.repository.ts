import { Injectable } from '@nestjs/common';
import { sql } from 'kysely';
import type { Tx } from '../../../platform/database/transactions.js';
import type { MaintenanceSettings } from './settings.js';

/** What is known of a city whose files are followed. */
export interface Followed {
  readonly settings: MaintenanceSettings | null;
  readonly nextAt: Date | null;
  /** When its last cycle ended; null when there was none. */
  readonly last: Date | null;
  /** One is open: whoever ends it says when the next one comes. */
  readonly busy: boolean;
  readonly now: Date;
}

/** The SQL of following what the files of cities say of their maintenance. */
@Injectable()
export class SettingsSyncRepository {
  /** What is known of a city, whose row is locked. */
  async followed(tx: Tx, streamId: number): Promise<Followed> {
    const { rows } = await sql<Followed>`
      select m.settings, m.next_at as "nextAt", clock_timestamp() as now,
        (select o.finished_at from maintenance_cycles o where o.stream_id = m.stream_id and o.state = 'done' order by o.pk desc limit 1) as last,
        exists (select from maintenance_cycles o where o.stream_id = m.stream_id and o.state <> 'done') as busy
      from maintenance_cities m where m.stream_id = ${streamId}`.execute(tx);
    return rows[0]!;
  }

  async save(tx: Tx, streamId: number, settings: MaintenanceSettings | undefined, nextAt: Date | null): Promise<void> {
    const text = settings === undefined ? null : JSON.stringify(settings);
    await sql`
      update maintenance_cities set settings = ${text}::jsonb, next_at = ${nextAt},
        look_at = case when ${text}::jsonb is null then null else coalesce(look_at, clock_timestamp()) end,
        disk = case when ${text}::jsonb is null then 'ok' else disk end
      where stream_id = ${streamId}`.execute(tx);
  }
}
