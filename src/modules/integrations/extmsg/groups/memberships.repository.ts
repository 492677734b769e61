import { Injectable } from '@nestjs/common';
import { sql, type Kysely } from 'kysely';
import type { Database } from '../../../../platform/database/database.js';
import type { Tx } from '../../../../platform/database/transactions.js';
import { selectorOf, type Target } from '../bindings/target.js';

/** By what somebody is a member: he has the conversation, or a handle in its group. */
export type Owner = 'binding' | 'group';

export interface MembershipRow {
  readonly pk: number;
  /** A session's id, or a configured name. */
  readonly selector: string;
  readonly session_pk: number | null;
  readonly owners: readonly Owner[];
  readonly joined_sequence: number;
  readonly last_read_sequence: number;
}

const ROW = sql`m.pk, m.selector, m.session_pk, m.owners, m.joined_sequence, m.last_read_sequence`;

/** SQL of who may see a conversation. Who changes it has the conversation locked. */
@Injectable()
export class MembershipsRepository {
  async join(tx: Tx, conversation: { readonly pk: number; readonly stream_id: number }, target: Target, owner: Owner): Promise<void> {
    await sql`
      insert into extmsg_memberships as m (stream_id, conversation_pk, selector, session_pk, owners, joined_sequence)
      select ${conversation.stream_id}, ${conversation.pk}, ${selectorOf(target)}, ${target.sessionPk}, ${[owner]}::text[], c.head
      from extmsg_conversations c where c.pk = ${conversation.pk}
      on conflict (conversation_pk, selector) where closed_at is null
      do update set owners = case when ${owner} = any(m.owners) then m.owners else m.owners || ${owner}::text end`.execute(tx);
  }

  /** Ends each with the last of what it is there by. */
  async leave(tx: Tx, members: readonly { readonly conversationPk: number; readonly selector: string }[], owner: Owner): Promise<void> {
    if (members.length === 0) return;
    const [conversations, selectors] = [members.map((each) => each.conversationPk), members.map((each) => each.selector)];
    await sql`
      update extmsg_memberships m set owners = array_remove(m.owners, ${owner}::text),
        closed_at = case when m.owners <@ array[${owner}::text] then clock_timestamp() end
      from unnest(${conversations}::bigint[], ${selectors}::text[]) as l(conversation_pk, selector)
      where m.conversation_pk = l.conversation_pk and m.selector = l.selector and m.closed_at is null`.execute(tx);
  }

  /** All members, in the order of their names. */
  async members(db: Kysely<Database>, conversationPk: number): Promise<MembershipRow[]> {
    const { rows } = await sql<MembershipRow>`
      select ${ROW} from extmsg_memberships m where m.conversation_pk = ${conversationPk} and m.closed_at is null order by m.selector`.execute(
      db,
    );
    return rows;
  }

  /** The one that a text or a target means. */
  async find(db: Kysely<Database>, conversationPk: number, selectors: readonly string[]): Promise<MembershipRow | undefined> {
    const { rows } = await sql<MembershipRow>`
      select ${ROW} from extmsg_memberships m
      where m.conversation_pk = ${conversationPk} and m.closed_at is null and m.selector = any(${[...selectors]}::text[])
      order by array_position(${[...selectors]}::text[], m.selector) limit 1`.execute(db);
    return rows[0];
  }

  /** Never backwards. */
  async acknowledge(tx: Tx, pk: number, sequence: number): Promise<void> {
    await sql`update extmsg_memberships set last_read_sequence = greatest(last_read_sequence, ${sequence}) where pk = ${pk}`.execute(tx);
  }

  /** Conversations that a session is a member of. */
  async conversationsOf(db: Kysely<Database>, streamId: number, sessionPk: number): Promise<number[]> {
    const { rows } = await sql<{ conversation_pk: number }>`
      select conversation_pk from extmsg_memberships where stream_id = ${streamId} and session_pk = ${sessionPk} and closed_at is null`.execute(
      db,
    );
    return rows.map((row) => row.conversation_pk);
  }

  async close(tx: Tx, streamId: number, sessionPk: number): Promise<void> {
    await sql`
      update extmsg_memberships set closed_at = clock_timestamp(), owners = '{}'
      where stream_id = ${streamId} and session_pk = ${sessionPk} and closed_at is null`.execute(tx);
  }

  /** To the session that comes after another, with what that has read. */
  async move(tx: Tx, streamId: number, fromPk: number, to: Target): Promise<void> {
    await sql`
      update extmsg_memberships set session_pk = ${to.sessionPk}, selector = ${to.sessionId}
      where stream_id = ${streamId} and session_pk = ${fromPk} and closed_at is null`.execute(tx);
  }
}
