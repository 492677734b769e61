import { Injectable } from '@nestjs/common';
import { sql } from 'kysely';
import type { Tx } from '../../../platform/database/transactions.js';
import type { CityScope } from '../../tenancy/cities/city-scope.js';
import type { MessageRecord, NewMessage } from './message-record.js';

const record = (city: CityScope) => sql`m.id, m.rig, m.subject, m.thread_id, m.sender, m.sender_principal, m.read_at is not null as read,
  m.archived_as, message_json(m, ${city.name}) as snapshot`;

/** SQL of writers, which hold the city's work lock. */
@Injectable()
export class MailRepository {
  /** Stores messages under these ids, one each, in the given order. */
  async insert(tx: Tx, city: CityScope, ids: readonly string[], messages: readonly NewMessage[]): Promise<MessageRecord[]> {
    const rows = messages.map(({ recipient, sender, cc = [], ...message }, n) => ({
      ...message,
      id: ids[n],
      reply_to: message.replyTo,
      principal: recipient.principal,
      recipient: recipient.shown,
      sender_principal: sender.principal,
      sender: sender.shown,
      cc,
    }));
    const inserted = await sql<MessageRecord>`
      insert into messages as m (stream_id, id, rig, thread_id, reply_to, principal, recipient, sender_principal, sender, subject, body,
        priority, cc)
      select ${city.streamId}, n.id, n.rig, n.thread, n.reply_to, n.principal, n.recipient,
        n.sender_principal, n.sender, n.subject, n.body, n.priority, n.cc
      from jsonb_to_recordset(${JSON.stringify(rows)}::jsonb) as n (id text, rig text, thread text, reply_to text, principal text, recipient text,
        sender_principal text, sender text, subject text, body text, priority smallint, cc text[])
      returning ${record(city)}`.execute(tx);
    return inserted.rows;
  }

  /** In whatever state it is. */
  async find(tx: Tx, city: CityScope, id: string): Promise<MessageRecord | undefined> {
    const { rows } = await sql<MessageRecord>`
      select ${record(city)} from messages m where m.stream_id = ${city.streamId} and m.id = ${id}`.execute(tx);
    return rows[0];
  }

  async setRead(tx: Tx, city: CityScope, id: string, read: boolean): Promise<void> {
    await sql`
      update messages set read_at = ${read ? sql`clock_timestamp()` : null}
      where stream_id = ${city.streamId} and id = ${id}`.execute(tx);
  }

  async archive(tx: Tx, city: CityScope, id: string, as: 'archived' | 'deleted'): Promise<void> {
    await sql`
      update messages set archived_at = clock_timestamp(), archived_as = ${as}
      where stream_id = ${city.streamId} and id = ${id}`.execute(tx);
  }
}
