import type { Conversation } from '../conversations/conversation.js';
import type { ConversationRef } from '../conversations/conversations.schemas.js';
import type { ExternalAttachment } from '../transcript/transcript.schemas.js';

/** What the last try of a publication has come to. */
export interface StoredReceipt {
  readonly messageId: string;
  readonly kind: string;
  readonly error?: string;
  readonly retryAfterMs: number;
  readonly metadata: Readonly<Record<string, string>> | null;
  readonly conversation?: ConversationRef;
}

export interface PublicationRow extends Conversation {
  readonly pk: number;
  readonly stream_id: number;
  readonly conversation_pk: number;
  readonly id: string;
  readonly direction: 'outbound';
  readonly state: 'pending' | 'delivered' | 'failed';
  readonly selector: string;
  readonly session_pk: number;
  readonly session_id: string;
  readonly body: string;
  readonly sequence: number | null;
  /** As it was asked for. */
  readonly conversation: ConversationRef;
  readonly attachments: readonly ExternalAttachment[];
  readonly reply_to_message_id: string;
  readonly explicit_target: string;
  readonly idempotency_key: string;
  readonly body_hash: Buffer;
  /** Of the binding that it was taken under; 0 for a participant of a group. */
  readonly generation: number;
  readonly root: number;
  readonly attempts: number;
  readonly receipt: StoredReceipt | null;
  readonly overdue: boolean;
  readonly created_at: Date;
  /** Who has it: a worker, or the connection of a client; null for nobody. */
  readonly worker: string | null;
  /** The last under which a client has had it. */
  readonly claim: string | null;
  readonly lease_until: Date | null;
}

export interface NewPublication {
  readonly id: string;
  readonly session: { readonly pk: number; readonly id: string };
  readonly text: string;
  readonly conversation: ConversationRef;
  readonly attachments: readonly ExternalAttachment[];
  readonly replyTo: string;
  readonly explicitTarget: string;
  readonly key: string;
  readonly bodyHash: Buffer;
  readonly generation: number;
  readonly root: number;
  readonly triggered: boolean;
  readonly lifeMs: number;
  /** The adapter whose clients come for it; null where a worker calls it. */
  readonly forClientsOf: number | null;
}
