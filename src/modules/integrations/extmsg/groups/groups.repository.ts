import { Injectable } from '@nestjs/common';
import { sql, type Kysely } from 'kysely';
import type { Database } from '../../../../platform/database/database.js';
import type { Tx } from '../../../../platform/database/transactions.js';
import type { Target } from '../bindings/target.js';
import type { Conversation } from '../conversations/conversation.js';
import type { Metadata } from '../conversations/conversations.schemas.js';
import type { FanoutPolicy } from './groups.schemas.js';

/** A group with the conversation that it is rooted on: what decides who is told. */
export interface GroupFacts extends Conversation {
  readonly pk: number;
  readonly id: string;
  readonly conversation_pk: number;
  readonly mode: string;
  readonly default_handle: string;
  readonly last_addressed_handle: string;
  readonly fanout_enabled: boolean;
  readonly fanout_untargeted: boolean;
  readonly max_peer_publishes: number;
  readonly max_peer_deliveries: number;
}

export interface GroupRow extends GroupFacts {
  readonly metadata: Metadata;
}

export interface ParticipantFacts {
  readonly pk: number;
  readonly id: string;
  readonly handle: string;
  readonly session_pk: number | null;
  readonly session_id: string;
  readonly session_name: string;
  readonly agent_name: string;
  readonly public: boolean;
  readonly closed_at: Date | null;
}

export interface ParticipantRow extends ParticipantFacts {
  readonly metadata: Metadata;
}

export interface Ensured {
  readonly id: string;
  readonly mode: string;
  readonly defaultHandle: string;
  readonly fanout: FanoutPolicy;
  readonly metadata: Metadata;
}

const GROUP = sql`g.pk, g.id, g.conversation_pk, g.mode, g.default_handle, g.last_addressed_handle, g.fanout_enabled, g.fanout_untargeted,
  g.max_peer_publishes, g.max_peer_deliveries, g.metadata, c.scope_id, c.provider, c.account_id, c.conversation_id, c.parent_conversation_id, c.kind`;
const PARTICIPANT = sql`p.pk, p.id, p.handle, p.session_pk, p.session_id, p.session_name, p.agent_name, p.public, p.metadata, p.closed_at`;

/** SQL of groups and their participants. Who changes one has its conversation locked. */
@Injectable()
export class GroupsRepository {
  async of(db: Kysely<Database>, conversationPk: number): Promise<GroupRow | undefined> {
    const { rows } = await sql<GroupRow>`
      select ${GROUP} from extmsg_groups g join extmsg_conversations c on c.pk = g.conversation_pk where g.conversation_pk = ${conversationPk}`.execute(
      db,
    );
    return rows[0];
  }

  async byId(db: Kysely<Database>, streamId: number, id: string): Promise<GroupRow | undefined> {
    const { rows } = await sql<GroupRow>`
      select ${GROUP} from extmsg_groups g join extmsg_conversations c on c.pk = g.conversation_pk
      where g.stream_id = ${streamId} and g.id = ${id}`.execute(db);
    return rows[0];
  }

  async ensure(tx: Tx, conversation: { readonly pk: number; readonly stream_id: number }, group: Ensured): Promise<GroupRow> {
    const { id, mode, defaultHandle, fanout, metadata } = group;
    await sql`
      insert into extmsg_groups as g (stream_id, conversation_pk, id, mode, default_handle, fanout_enabled, fanout_untargeted,
        max_peer_publishes, max_peer_deliveries, metadata)
      values (${conversation.stream_id}, ${conversation.pk}, ${id}, ${mode}, ${defaultHandle}, ${fanout.Enabled},
        ${fanout.AllowUntargetedPublication}, ${fanout.MaxPeerTriggeredPublishes}, ${fanout.MaxTotalPeerDeliveries}, ${JSON.stringify(metadata)}::jsonb)
      on conflict (conversation_pk) do update set mode = excluded.mode, default_handle = excluded.default_handle,
        fanout_enabled = excluded.fanout_enabled, fanout_untargeted = excluded.fanout_untargeted,
        max_peer_publishes = excluded.max_peer_publishes, max_peer_deliveries = excluded.max_peer_deliveries,
        metadata = g.metadata || excluded.metadata, updated_at = clock_timestamp()`.execute(tx);
    return (await this.of(tx, conversation.pk))!;
  }

  /** Those that have a handle, by handle. */
  async participants(db: Kysely<Database>, groupPk: number): Promise<ParticipantRow[]> {
    const { rows } = await sql<ParticipantRow>`
      select ${PARTICIPANT} from extmsg_participants p where p.group_pk = ${groupPk} and p.closed_at is null order by p.handle`.execute(db);
    return rows;
  }

  /** The last that had this handle, or has it. */
  async participant(db: Kysely<Database>, groupPk: number, handle: string): Promise<ParticipantRow | undefined> {
    const { rows } = await sql<ParticipantRow>`
      select ${PARTICIPANT} from extmsg_participants p where p.group_pk = ${groupPk} and p.handle = ${handle}
      order by p.closed_at desc nulls first, p.pk desc limit 1`.execute(db);
    return rows[0];
  }

  async upsert(
    tx: Tx,
    group: { readonly pk: number; readonly stream_id: number },
    participant: { id: string; handle: string; target: Target; isPublic: boolean; metadata: Metadata },
  ): Promise<ParticipantRow> {
    const { id, handle, target, isPublic, metadata } = participant;
    const { rows } = await sql<ParticipantRow>`
      insert into extmsg_participants as p (group_pk, stream_id, id, handle, session_pk, session_id, session_name, agent_name, public, metadata)
      values (${group.pk}, ${group.stream_id}, ${id}, ${handle}, ${target.sessionPk}, ${target.sessionId}, ${target.sessionName},
        ${target.agentName}, ${isPublic}, ${JSON.stringify(metadata)}::jsonb)
      on conflict (group_pk, handle) where closed_at is null do update set session_pk = excluded.session_pk, session_id = excluded.session_id,
        session_name = excluded.session_name, agent_name = excluded.agent_name, public = excluded.public, metadata = p.metadata || excluded.metadata
      returning ${PARTICIPANT}`.execute(tx);
    return rows[0]!;
  }

  async close(tx: Tx, pk: number): Promise<void> {
    await sql`update extmsg_participants set closed_at = clock_timestamp() where pk = ${pk} and closed_at is null`.execute(tx);
  }

  /** Conversations in whose groups a session has a handle. */
  async conversationsOf(db: Kysely<Database>, streamId: number, sessionPk: number): Promise<number[]> {
    const { rows } = await sql<{ conversation_pk: number }>`
      select distinct g.conversation_pk from extmsg_participants p join extmsg_groups g on g.pk = p.group_pk
      where p.stream_id = ${streamId} and p.session_pk = ${sessionPk} and p.closed_at is null`.execute(db);
    return rows.map((row) => row.conversation_pk);
  }

  async closeOf(tx: Tx, streamId: number, sessionPk: number): Promise<void> {
    await sql`
      update extmsg_participants set closed_at = clock_timestamp()
      where stream_id = ${streamId} and session_pk = ${sessionPk} and closed_at is null`.execute(tx);
  }

  async move(tx: Tx, streamId: number, fromPk: number, to: Target): Promise<void> {
    await sql`
      update extmsg_participants set session_pk = ${to.sessionPk}, session_id = ${to.sessionId}, session_name = ${to.sessionName}
      where stream_id = ${streamId} and session_pk = ${fromPk} and closed_at is null`.execute(tx);
  }
}
