import type { BindingRow } from '../bindings/bindings.repository.js';
import type { ConversationRow } from '../conversations/conversation.js';
import type { GroupFacts, ParticipantFacts } from '../groups/groups.repository.js';
import type { MembershipRow } from '../groups/memberships.repository.js';
import type { EntryRow } from '../transcript/transcript.repository.js';

/** `routing` stands for all that says who is told there, but for who was addressed last. */
export type FoundConversation = ConversationRow & { readonly routing: number };

/** What a message from outside finds, under the lock of its conversation. */
export interface Found {
  /** The city runs. */
  readonly running: boolean;
  /** Somebody else has the conversation locked, or has just made it. */
  readonly busy: boolean;
  /** Undefined for a conversation that nobody knows, and for one that is busy. */
  readonly at?: FoundConversation;
  /** The entry that has come under this key already. */
  readonly known?: EntryRow;
  /** Its time may be over. Of what has come before: that by which it went. */
  readonly binding?: BindingRow;
  readonly overdue: boolean;
  readonly group?: GroupFacts;
  readonly participants: readonly ParticipantFacts[];
  readonly members: readonly MembershipRow[];
}
