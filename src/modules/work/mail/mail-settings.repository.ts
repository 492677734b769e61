import { Injectable } from '@nestjs/common';
import { sql } from 'kysely';
import { Db } from '../../../platform/database/database.js';
import type { Tx } from '../../../platform/database/transactions.js';

/** All SQL about `mail_settings` that answers requests. */
@Injectable()
export class MailSettingsRepository {
  constructor(private readonly db: Db) {}

  /** In milliseconds; undefined when unread mail is kept. */
  async unreadRetention(streamId: number): Promise<number | undefined> {
    const { rows } = await sql<{ ms: number }>`
      select (extract(epoch from unread_retention) * 1000)::bigint as ms from mail_settings where stream_id = ${streamId}`.execute(this.db);
    return rows[0]?.ms;
  }

  async setUnreadRetention(tx: Tx, streamId: number, ms: number | undefined): Promise<void> {
    if (ms === undefined) await sql`delete from mail_settings where stream_id = ${streamId}`.execute(tx);
    else
      await sql`
        insert into mail_settings (stream_id, unread_retention) values (${streamId}, ${ms} * interval '1 millisecond')
        on conflict (stream_id) do update set unread_retention = excluded.unread_retention`.execute(tx);
  }
}
