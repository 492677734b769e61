import { Injectable } from '@nestjs/common';
import { sql, type Kysely, type RawBuilder } from 'kysely';
import type { Database } from '../../../../platform/database/database.js';
import type { Tx } from '../../../../platform/database/transactions.js';
import type { Conversation } from '../conversations/conversation.js';
import type { Metadata } from '../conversations/conversations.schemas.js';
import type { Target } from './target.js';

/** A binding with its conversation. */
export interface BindingRow extends Conversation {
  readonly pk: number;
  readonly id: string;
  readonly conversation_pk: number;
  readonly session_pk: number | null;
  readonly session_id: string;
  readonly session_name: string;
  readonly agent_name: string;
  readonly status: 'active' | 'ended';
  readonly generation: number;
  readonly metadata: Metadata;
  readonly bound_at: Date;
  readonly expires_at: Date | null;
}

export interface BindingFilter {
  readonly conversationPk?: number;
  readonly sessionPk?: number;
  readonly agentName?: string;
}

const ROW = sql`b.pk, b.id, b.conversation_pk, b.session_pk, b.session_id, b.session_name, b.agent_name, b.status, b.generation, b.metadata,
  b.bound_at, b.expires_at, c.scope_id, c.provider, c.account_id, c.conversation_id, c.parent_conversation_id, c.kind`;

/** SQL of bindings. Who changes one has its conversation locked. */
@Injectable()
export class BindingsRepository {
  /** The one that counts; one whose time is over does not. */
  async active(db: Kysely<Database>, conversationPk: number): Promise<BindingRow | undefined> {
    const { rows } = await sql<BindingRow>`
      select ${ROW} from extmsg_bindings b join extmsg_conversations c on c.pk = b.conversation_pk
      where b.conversation_pk = ${conversationPk} and b.status = 'active' and (b.expires_at is null or b.expires_at > clock_timestamp())`.execute(
      db,
    );
    return rows[0];
  }

  async byPk(db: Kysely<Database>, pk: number): Promise<BindingRow | undefined> {
    const { rows } = await sql<BindingRow>`
      select ${ROW} from extmsg_bindings b join extmsg_conversations c on c.pk = b.conversation_pk where b.pk = ${pk}`.execute(db);
    return rows[0];
  }

  /** The active ones of a session or of an agent, above a place. */
  async page(db: Kysely<Database>, streamId: number, target: Target, after: number, limit: number): Promise<BindingRow[]> {
    const own = target.sessionPk === null ? sql`b.agent_name = ${target.agentName}` : sql`b.session_pk = ${target.sessionPk}`;
    const { rows } = await sql<BindingRow>`
      select ${ROW} from extmsg_bindings b join extmsg_conversations c on c.pk = b.conversation_pk
      where b.stream_id = ${streamId} and ${own} and b.status = 'active' and (b.expires_at is null or b.expires_at > clock_timestamp())
        and b.pk > ${after} order by b.pk limit ${limit}`.execute(db);
    return rows;
  }

  /** The conversations with an active binding of these, for whoever is going to lock them. */
  async conversations(db: Kysely<Database>, streamId: number, filter: BindingFilter): Promise<number[]> {
    const { rows } = await sql<{ conversation_pk: number }>`
      select b.conversation_pk from extmsg_bindings b where b.stream_id = ${streamId} and b.status = 'active' and ${where(filter)}`.execute(
      db,
    );
    return rows.map((row) => row.conversation_pk);
  }

  async insert(
    tx: Tx,
    conversation: { readonly pk: number; readonly stream_id: number },
    binding: { id: string; target: Target; generation: number; metadata: Metadata; expiresAt?: Date | undefined },
  ): Promise<BindingRow> {
    const { id, target, generation, metadata, expiresAt } = binding;
    const { rows } = await sql<{ pk: number }>`
      insert into extmsg_bindings (stream_id, conversation_pk, id, session_pk, session_id, session_name, agent_name, generation, metadata, expires_at)
      values (${conversation.stream_id}, ${conversation.pk}, ${id}, ${target.sessionPk}, ${target.sessionId}, ${target.sessionName},
        ${target.agentName}, ${generation}, ${JSON.stringify(metadata)}::jsonb, ${expiresAt ?? null}) returning pk`.execute(tx);
    return (await this.byPk(tx, rows[0]!.pk))!;
  }

  /** The same binding again. */
  async refresh(tx: Tx, pk: number, metadata: Metadata, expiresAt: Date | undefined): Promise<BindingRow> {
    await sql`
      update extmsg_bindings set metadata = metadata || ${JSON.stringify(metadata)}::jsonb, expires_at = ${expiresAt ?? null} where pk = ${pk}`.execute(
      tx,
    );
    return (await this.byPk(tx, pk))!;
  }

  /** Ends the active ones of these among locked conversations, with what was published under them. */
  async end(
    tx: Tx,
    streamId: number,
    conversationPks: readonly number[],
    filter: BindingFilter & { overdue?: boolean },
  ): Promise<BindingRow[]> {
    const overdue = filter.overdue === true ? sql`b.expires_at <= clock_timestamp()` : sql`true`;
    const { rows } = await sql<BindingRow>`
      update extmsg_bindings b set status = 'ended', ended_at = clock_timestamp() from extmsg_conversations c
      where c.pk = b.conversation_pk and b.stream_id = ${streamId} and b.conversation_pk = any(${[...conversationPks]}::bigint[])
        and b.status = 'active' and ${where(filter)} and ${overdue}
      returning ${ROW}`.execute(tx);
    const contexts = rows.flatMap(({ conversation_pk, session_pk }) =>
      session_pk === null ? [] : [[conversation_pk, session_pk] as const],
    );
    for (const [conversationPk, sessionPk] of contexts)
      await sql`delete from extmsg_contexts where conversation_pk = ${conversationPk} and session_pk = ${sessionPk}`.execute(tx);
    return rows.sort((a, b) => a.pk - b.pk);
  }

  /** Gives active bindings of one session to another. */
  async move(tx: Tx, streamId: number, fromPk: number, to: Target): Promise<BindingRow[]> {
    const { rows } = await sql<BindingRow>`
      update extmsg_bindings b set session_pk = ${to.sessionPk}, session_id = ${to.sessionId}, session_name = ${to.sessionName}
      from extmsg_conversations c
      where c.pk = b.conversation_pk and b.stream_id = ${streamId} and b.session_pk = ${fromPk} and b.status = 'active' returning ${ROW}`.execute(
      tx,
    );
    await sql`delete from extmsg_contexts where session_pk = ${fromPk}`.execute(tx);
    return rows.sort((a, b) => a.pk - b.pk);
  }
}

function where({ conversationPk, sessionPk, agentName }: BindingFilter): RawBuilder<unknown> {
  const parts = [
    conversationPk === undefined ? undefined : sql`b.conversation_pk = ${conversationPk}`,
    sessionPk === undefined ? undefined : sql`b.session_pk = ${sessionPk}`,
    agentName === undefined ? undefined : sql`b.agent_name = ${agentName}`,
  ].filter((part) => part !== undefined);
  return parts.length === 0 ? sql`true` : sql.join(parts, sql` and `);
}
