import { Injectable } from '@nestjs/common';
import { sql, type Kysely } from 'kysely';
import type { Database } from '../../../../platform/database/database.js';
import type { Tx } from '../../../../platform/database/transactions.js';
import { keyOf, type Conversation, type ConversationRow } from './conversation.js';

const ROW = sql`c.pk, c.stream_id, c.scope_id, c.provider, c.account_id, c.conversation_id, c.parent_conversation_id, c.kind, c.head, c.earliest,
  c.generation`;

/** SQL of conversations. Who changes what hangs from one has its row locked. */
@Injectable()
export class ConversationsRepository {
  async find(db: Kysely<Database>, streamId: number, conversation: Conversation): Promise<ConversationRow | undefined> {
    const { rows } = await sql<ConversationRow>`
      select ${ROW} from extmsg_conversations c where c.stream_id = ${streamId} and c.key = ${keyOf(conversation)}`.execute(db);
    return rows[0];
  }

  /** The same, locked until the commit. */
  async lock(tx: Tx, streamId: number, conversation: Conversation): Promise<ConversationRow | undefined> {
    const { rows } = await sql<ConversationRow>`
      select ${ROW} from extmsg_conversations c where c.stream_id = ${streamId} and c.key = ${keyOf(conversation)} for no key update`.execute(
      tx,
    );
    return rows[0];
  }

  /** Made if it is not there, and locked until the commit. */
  async ensure(tx: Tx, streamId: number, conversation: Conversation): Promise<ConversationRow> {
    const there = await this.lock(tx, streamId, conversation);
    if (there !== undefined) return there;
    const { scope_id, provider, account_id, conversation_id, parent_conversation_id, kind } = conversation;
    const { rows } = await sql<ConversationRow>`
      insert into extmsg_conversations as c (stream_id, key, scope_id, provider, account_id, conversation_id, parent_conversation_id, kind)
      values (${streamId}, ${keyOf(conversation)}, ${scope_id}, ${provider}, ${account_id}, ${conversation_id}, ${parent_conversation_id}, ${kind})
      on conflict (stream_id, key) do update set generation = c.generation
      returning ${ROW}`.execute(tx);
    return rows[0]!;
  }

  async lockPk(tx: Tx, pk: number): Promise<ConversationRow | undefined> {
    return (await this.lockAll(tx, [pk]))[0];
  }

  /** Several, in an order that everybody keeps. */
  async lockAll(tx: Tx, pks: readonly number[]): Promise<ConversationRow[]> {
    if (pks.length === 0) return [];
    const { rows } = await sql<ConversationRow>`
      select ${ROW} from extmsg_conversations c where c.pk = any(${[...pks]}::bigint[]) order by c.pk for no key update`.execute(tx);
    return rows;
  }

  /** The next generation of its bindings. */
  async nextGeneration(tx: Tx, pk: number): Promise<number> {
    const { rows } = await sql<{ generation: number }>`
      update extmsg_conversations set generation = generation + 1 where pk = ${pk} returning generation`.execute(tx);
    return rows[0]!.generation;
  }

  /** The position of the city's events. */
  async eventHead(db: Kysely<Database>, streamId: number): Promise<number> {
    const { rows } = await sql<{ head: number }>`select head from event_streams where id = ${streamId}`.execute(db);
    return rows[0]?.head ?? 0;
  }
}
