import { Injectable } from '@nestjs/common';
import { sql } from 'kysely';
import { Db } from '../../../platform/database/database.js';
import type { Tx } from '../../../platform/database/transactions.js';
import type { CityScope } from '../../tenancy/cities/city-scope.js';
import type { Circular } from './mail-sending.service.js';
import type { Recipient } from './message-record.js';

/** The next of a broadcast. */
export interface Portion {
  readonly message: Circular;
  readonly recipients: readonly Recipient[];
  /** To how many it was sent before. */
  readonly sent: number;
}

/** SQL of broadcasts to many. Steps hold the city's work lock. */
@Injectable()
export class MailBroadcastsRepository {
  constructor(private readonly db: Db) {}

  async insert(tx: Tx, streamId: number, requestId: string, message: Circular, recipients: readonly Recipient[]): Promise<void> {
    await sql`
      insert into mail_broadcasts (stream_id, request_id, message, principals, shown)
      values (${streamId}, ${requestId}, ${JSON.stringify(message)}::jsonb, ${recipients.map(({ principal }) => principal)}::text[],
        ${recipients.map(({ shown }) => shown)}::text[])`.execute(tx);
  }

  /** Those that come next, so many at the most, and no more than have `bytes` of text together; undefined when it is over. */
  async next(tx: Tx, streamId: number, requestId: string, most: number, bytes: number): Promise<Portion | undefined> {
    const { rows } = await sql<{ message: Circular; principals: string[]; shown: string[]; sent: number }>`
      select b.message, b.sent, b.principals[b.sent + 1 : b.sent + p.n] as principals, b.shown[b.sent + 1 : b.sent + p.n] as shown
      from mail_broadcasts b
      cross join lateral (select least(${most}::integer, greatest(1, ${bytes}::integer / octet_length(b.message::text))) as n) p
      where b.stream_id = ${streamId} and b.request_id = ${requestId}`.execute(tx);
    const [row] = rows;
    if (row === undefined) return undefined;
    return {
      message: row.message,
      sent: row.sent,
      recipients: row.principals.map((principal, n) => ({ principal, shown: row.shown[n]! })),
    };
  }

  /** To how many it was sent so far. */
  async sentSoFar(streamId: number, requestId: string): Promise<number> {
    const row = await this.db
      .selectFrom('mail_broadcasts')
      .select('sent')
      .where('stream_id', '=', streamId)
      .where('request_id', '=', requestId)
      .executeTakeFirst();
    return row?.sent ?? 0;
  }

  async sent(tx: Tx, streamId: number, requestId: string, sent: number): Promise<void> {
    await tx.updateTable('mail_broadcasts').set({ sent }).where('stream_id', '=', streamId).where('request_id', '=', requestId).execute();
  }

  async remove(tx: Tx, streamId: number, requestId: string): Promise<void> {
    await tx.deleteFrom('mail_broadcasts').where('stream_id', '=', streamId).where('request_id', '=', requestId).execute();
  }

  async runningCity(streamId: number): Promise<CityScope | undefined> {
    const { rows } = await sql<CityScope>`
      select c.id, c.name, c.dir as path, c.name as stream, c.stream_id as "streamId" from cities c
      where c.stream_id = ${streamId} and c.running`.execute(this.db);
    return rows[0];
  }
}
