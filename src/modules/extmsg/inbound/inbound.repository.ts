import { Injectable } from '@nestjs/common';
import { sql } from 'kysely';
import type { Tx } from '../../../platform/database/transactions.js';
import type { BindingRow } from '../bindings/bindings.repository.js';
import { keyOf, type Conversation, type ConversationRow } from '../conversations/conversation.js';
import type { MemberDelivery } from '../deliveries/deliveries.repository.js';
import type { GroupRow, ParticipantRow } from '../groups/groups.repository.js';
import type { MembershipRow } from '../groups/memberships.repository.js';
import type { EntryRow, NewEntry } from '../transcript/transcript.repository.js';

/** What a message from outside finds, under the lock of its conversation. */
export interface Found {
  readonly running: boolean;
  /** Undefined for a conversation that nobody knows. */
  readonly at?: ConversationRow;
  /** The entry that has come under this key already: nothing else is looked at then. */
  readonly known?: EntryRow;
  /** Its time may be over. */
  readonly binding?: BindingRow;
  readonly overdue: boolean;
  readonly group?: GroupRow;
  readonly participants: readonly ParticipantRow[];
  readonly members: readonly MembershipRow[];
}

interface Row {
  readonly running: boolean;
  readonly at?: ConversationRow;
  readonly known?: (EntryRow & { readonly created_at: string }) | null;
  readonly binding?: (BindingRow & { readonly bound_at: string; readonly expires_at: string | null }) | null;
  readonly overdue?: boolean;
  readonly group?: GroupRow | null;
  readonly participants?: ParticipantRow[];
  readonly members?: MembershipRow[];
}

function isThere<T>(value: T | null | undefined): value is T {
  return value !== undefined && value !== null;
}

/** SQL of messages from outside: two calls, however much there is to look at. */
@Injectable()
export class InboundRepository {
  async look(tx: Tx, streamId: number, conversation: Conversation, onceKey: string): Promise<Found> {
    const { rows } = await sql<{ found: Row }>`select extmsg_look(${streamId}, ${keyOf(conversation)}, ${onceKey}) as found`.execute(tx);
    const { running, at, known, binding, overdue = false, group, participants = [], members = [] } = rows[0]!.found;
    return {
      ...{ running, overdue, participants, members },
      ...(at === undefined ? {} : { at }),
      ...(!isThere(known) ? {} : { known: { ...known, created_at: new Date(known.created_at) } }),
      ...(!isThere(binding)
        ? {}
        : {
            binding: {
              ...{ ...binding, ...conversation, bound_at: new Date(binding.bound_at) },
              expires_at: binding.expires_at === null ? null : new Date(binding.expires_at),
            },
          }),
      ...(!isThere(group) ? {} : { group: { ...group, ...conversation } }),
    };
  }

  /** The entry, and who is to be told of it. Its sequence is the next one of the conversation, which is locked. */
  async take(tx: Tx, at: ConversationRow, entry: NewEntry, deliveries: readonly MemberDelivery[]): Promise<EntryRow> {
    const { id, kind, providerMessageId, onceKey, actor, text, explicitTarget, replyTo, attachments, sourceSessionId, route } = entry;
    const row = {
      ...{ id, kind, actor, text, attachments, route, provider_message_id: providerMessageId, explicit_target: explicitTarget },
      ...{ reply_to_message_id: replyTo, source_session_id: sourceSessionId },
    };
    const told = deliveries.map(({ id: delivery, selector, sessionPk, body }) => ({ id: delivery, selector, session_pk: sessionPk, body }));
    const { rows } = await sql<{ sequence: number; created_at: Date }>`
      select o_sequence as sequence, o_created_at as created_at from extmsg_take(${at.stream_id}, ${at.pk},
        ${JSON.stringify({ ...row, once_key: onceKey })}::jsonb, ${JSON.stringify(told)}::jsonb)`.execute(tx);
    return { ...row, ...rows[0]!, attachments: [...attachments], conversation_pk: at.pk };
  }
}
