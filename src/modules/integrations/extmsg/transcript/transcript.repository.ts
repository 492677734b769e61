import { Injectable } from '@nestjs/common';
import { sql, type Kysely } from 'kysely';
import type { Database } from '../../../../platform/database/database.js';
import { fitted, fitting, wholePage, type Fitted } from '../../../../platform/database/page-bytes.js';
import type { Tx } from '../../../../platform/database/transactions.js';
import type { ExternalActor, ExternalAttachment } from './transcript.schemas.js';

/** How an entry from outside was routed: what its repetition is answered. */
export interface EntryRoute {
  readonly binding?: number;
  readonly group?: { readonly match: string; readonly update: boolean };
  readonly session?: string;
  readonly agent?: string;
}

export interface NewEntry {
  readonly id: string;
  readonly kind: 'inbound' | 'outbound';
  readonly providerMessageId: string;
  readonly onceKey: string;
  readonly actor: ExternalActor;
  readonly text: string;
  readonly explicitTarget: string;
  readonly replyTo: string;
  readonly attachments: readonly ExternalAttachment[];
  readonly sourceSessionId: string;
  readonly route: EntryRoute;
}

export interface EntryRow {
  readonly conversation_pk: number;
  readonly sequence: number;
  readonly id: string;
  readonly kind: 'inbound' | 'outbound';
  readonly provider_message_id: string;
  readonly actor: ExternalActor;
  readonly text: string;
  readonly explicit_target: string;
  readonly reply_to_message_id: string;
  readonly attachments: ExternalAttachment[];
  readonly source_session_id: string;
  readonly route: EntryRoute;
  readonly created_at: Date;
}

const ROW = sql`e.conversation_pk, e.sequence, e.id, e.kind, e.provider_message_id, e.actor, e.text, e.explicit_target, e.reply_to_message_id,
  e.attachments, e.source_session_id, e.route, e.created_at`;

/** What an entry comes once under: the provider's id, or else what its adapter says. '' comes as often as it is sent. */
export function onceKeyOf(providerMessageId: string, dedupKey = ''): string {
  if (providerMessageId !== '') return `m:${providerMessageId}`;
  return dedupKey === '' ? '' : `k:${dedupKey}`;
}

/** SQL of entries. Who appends one has the conversation locked: sequences have no gaps. */
@Injectable()
export class TranscriptRepository {
  /** The one that has come under this key already. */
  async known(db: Kysely<Database>, conversationPk: number, onceKey: string): Promise<EntryRow | undefined> {
    if (onceKey === '') return undefined;
    const { rows } = await sql<EntryRow>`
      select ${ROW} from extmsg_entries e
      where e.conversation_pk = ${conversationPk} and e.once_key = ${onceKey} and e.once_key <> ''`.execute(db);
    return rows[0];
  }

  async at(db: Kysely<Database>, conversationPk: number, sequence: number): Promise<EntryRow | undefined> {
    const { rows } = await sql<EntryRow>`
      select ${ROW} from extmsg_entries e where e.conversation_pk = ${conversationPk} and e.sequence = ${sequence}`.execute(db);
    return rows[0];
  }

  async append(tx: Tx, conversationPk: number, entry: NewEntry): Promise<EntryRow> {
    const { rows } = await sql<EntryRow>`
      with c as (update extmsg_conversations set head = head + 1 where pk = ${conversationPk} returning head)
      insert into extmsg_entries as e (conversation_pk, sequence, id, kind, provider_message_id, once_key, actor, text, explicit_target,
        reply_to_message_id, attachments, source_session_id, route)
      select ${conversationPk}, c.head, ${entry.id}, ${entry.kind}, ${entry.providerMessageId}, ${entry.onceKey}, ${JSON.stringify(entry.actor)}::jsonb,
        ${entry.text}, ${entry.explicitTarget}, ${entry.replyTo}, ${JSON.stringify(entry.attachments)}::jsonb, ${entry.sourceSessionId},
        ${JSON.stringify(entry.route)}::jsonb from c
      returning ${ROW}`.execute(tx);
    return rows[0]!;
  }

  /** What came from outside is what a session said: an echo that was sooner than the answer to its publication. */
  async claim(tx: Tx, { conversation_pk: conversationPk, sequence }: EntryRow, sessionId: string): Promise<EntryRow> {
    const { rows } = await sql<EntryRow>`
      update extmsg_entries e set kind = 'outbound', source_session_id = ${sessionId}
      where e.conversation_pk = ${conversationPk} and e.sequence = ${sequence} returning ${ROW}`.execute(tx);
    return rows[0]!;
  }

  async page(
    db: Kysely<Database>,
    conversationPk: number,
    { after, before, descending, limit }: { after: number; before: number | undefined; descending: boolean; limit: number },
  ): Promise<{ rows: readonly EntryRow[]; more: boolean }> {
    const order = descending ? sql`sequence desc` : sql`sequence`;
    const found = sql`
      select ${ROW}, octet_length(to_json(e.text)::text) + octet_length(e.attachments::text) + 5000 as bytes from extmsg_entries e
      where e.conversation_pk = ${conversationPk} and e.sequence > ${after} and (${before ?? null}::bigint is null or e.sequence < ${before ?? null}::bigint)
      order by ${order} limit ${limit + 1}`;
    const { rows } = await sql<EntryRow & Fitted>`${fitting(found, order, wholePage(limit))} order by nth`.execute(db);
    return fitted(rows);
  }
}
