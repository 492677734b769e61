import { toRef, type Conversation } from '../conversations/conversation.js';
import { SCHEMA_VERSION } from '../conversations/conversations.schemas.js';
import type { EntryRow } from './transcript.repository.js';
import type { ConversationTranscriptRecord } from './transcript.schemas.js';

export function toEntry(row: EntryRow, conversation: Conversation): ConversationTranscriptRecord {
  return {
    ID: row.id,
    SchemaVersion: SCHEMA_VERSION,
    Conversation: toRef(conversation),
    Sequence: row.sequence,
    Kind: row.kind,
    Provenance: 'live',
    ProviderMessageID: row.provider_message_id,
    Actor: row.actor,
    Text: row.text,
    ExplicitTarget: row.explicit_target,
    ReplyToMessageID: row.reply_to_message_id,
    Attachments: row.attachments,
    SourceSessionID: row.source_session_id,
    CreatedAt: row.created_at.toISOString(),
    Metadata: {},
  };
}
