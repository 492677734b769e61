import { Injectable } from '@nestjs/common';
import { sql, type Kysely, type RawBuilder } from 'kysely';
import type { Database } from '../../../../platform/database/database.js';
import { fitted, fitting, wholePage, type Fitted } from '../../../../platform/database/page-bytes.js';
import type { Tx } from '../../../../platform/database/transactions.js';
import type { Conversation } from '../conversations/conversation.js';
import type { Metadata } from '../conversations/conversations.schemas.js';
import type { Target } from './target.js';

/** A binding with its conversation, as events tell of it. */
export interface BindingFacts extends Conversation {
  readonly pk: number;
  readonly id: string;
  readonly conversation_pk: number;
  readonly session_pk: number | null;
  readonly session_id: string;
  readonly session_name: string;
  readonly agent_name: string;
  readonly status: 'active' | 'ended';
  readonly generation: number;
  readonly bound_at: Date;
  readonly expires_at: Date | null;
}

export interface BindingRow extends BindingFacts {
  readonly metadata: Metadata;
}

export interface BindingFilter {
  readonly conversationPk?: number;
  readonly sessionPk?: number;
  readonly agentName?: string;
}

const FACTS = sql`b.pk, b.id, b.conversation_pk, b.session_pk, b.session_id, b.session_name, b.agent_name, b.status, b.generation,
  b.bound_at, b.expires_at, c.scope_id, c.provider, c.account_id, c.conversation_id, c.parent_conversation_id, c.kind`;
const ROW = sql`${FACTS}, b.metadata`;
/** With how long about it is in an answer, for pages. */
const SIZED = sql`${ROW}, octet_length(b.metadata::text) + octet_length(c.scope_id || c.account_id || c.conversation_id || c.parent_conversation_id)
  + 1000 as bytes`;

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
  async page(
    db: Kysely<Database>,
    streamId: number,
    target: Target,
    { after, limit }: { readonly after: number; readonly limit: number },
  ): Promise<{ rows: readonly BindingRow[]; more: boolean }> {
    const own = target.sessionPk === null ? sql`b.agent_name = ${target.agentName}` : sql`b.session_pk = ${target.sessionPk}`;
    const found = sql`
      select ${SIZED} from extmsg_bindings b join extmsg_conversations c on c.pk = b.conversation_pk
      where b.stream_id = ${streamId} and ${own} and b.status = 'active' and (b.expires_at is null or b.expires_at > clock_timestamp())
        and b.pk > ${after} order by b.pk limit ${limit + 1}`;
    const { rows } = await sql<BindingRow & Fitted>`${fitting(found, sql`pk`, wholePage(limit))} order by nth`.execute(db);
    return fitted(rows);
  }

  /** The first of these, as many as one answer holds. */
  async first(db: Kysely<Database>, pks: readonly number[]): Promise<readonly BindingRow[]> {
    const found = sql`
      select ${SIZED} from extmsg_bindings b join extmsg_conversations c on c.pk = b.conversation_pk where b.pk = any(${[...pks]}::bigint[])`;
    const { rows } = await sql<BindingRow & Fitted>`${fitting(found, sql`pk`, wholePage(pks.length))} order by nth`.execute(db);
    return fitted(rows).rows;
  }

  /** How many conversations a session has, counted up to a limit. */
  async count(db: Kysely<Database>, streamId: number, sessionPk: number, limit: number): Promise<number> {
    const { rows } = await sql<{ count: number }>`
      select count(*)::int as count from (
        select from extmsg_bindings b where b.stream_id = ${streamId} and b.session_pk = ${sessionPk} and b.status = 'active' limit ${limit}) n`.execute(
      db,
    );
    return rows[0]!.count;
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
  ): Promise<BindingFacts[]> {
    const overdue = filter.overdue === true ? sql`b.expires_at <= clock_timestamp()` : sql`true`;
    const { rows } = await sql<BindingFacts>`
      update extmsg_bindings b set status = 'ended', ended_at = clock_timestamp() from extmsg_conversations c
      where c.pk = b.conversation_pk and b.stream_id = ${streamId} and b.conversation_pk = any(${[...conversationPks]}::bigint[])
        and b.status = 'active' and ${where(filter)} and ${overdue}
      returning ${FACTS}`.execute(tx);
    await forgetContexts(tx, rows);
    return rows.sort((a, b) => a.pk - b.pk);
  }

  /** Gives active bindings of one session to another. */
  async move(tx: Tx, streamId: number, fromPk: number, to: Target): Promise<BindingFacts[]> {
    const { rows } = await sql<BindingFacts>`
      update extmsg_bindings b set session_pk = ${to.sessionPk}, session_id = ${to.sessionId}, session_name = ${to.sessionName}
      from extmsg_conversations c
      where c.pk = b.conversation_pk and b.stream_id = ${streamId} and b.session_pk = ${fromPk} and b.status = 'active' returning ${FACTS}`.execute(
      tx,
    );
    await forgetContexts(
      tx,
      rows.map(({ conversation_pk }) => ({ conversation_pk, session_pk: fromPk })),
    );
    return rows.sort((a, b) => a.pk - b.pk);
  }
}

/** What sessions have published last in conversations that they have no more. */
async function forgetContexts(tx: Tx, of: readonly Pick<BindingFacts, 'conversation_pk' | 'session_pk'>[]): Promise<void> {
  const had = of.filter(({ session_pk }) => session_pk !== null);
  if (had.length === 0) return;
  const [conversations, sessions] = [had.map((each) => each.conversation_pk), had.map((each) => each.session_pk)];
  await sql`
    delete from extmsg_contexts x using unnest(${conversations}::bigint[], ${sessions}::bigint[]) as h(conversation_pk, session_pk)
    where x.conversation_pk = h.conversation_pk and x.session_pk = h.session_pk`.execute(tx);
}

function where({ conversationPk, sessionPk, agentName }: BindingFilter): RawBuilder<unknown> {
  const parts = [
    conversationPk === undefined ? undefined : sql`b.conversation_pk = ${conversationPk}`,
    sessionPk === undefined ? undefined : sql`b.session_pk = ${sessionPk}`,
    agentName === undefined ? undefined : sql`b.agent_name = ${agentName}`,
  ].filter((part) => part !== undefined);
  return parts.length === 0 ? sql`true` : sql.join(parts, sql` and `);
}
