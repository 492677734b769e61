import { z } from 'zod';
import { queryEnum, queryInt, queryText } from '../../../../contract/query.js';
import { contract, demanded } from '../../../../contract/registry.js';
import { int64, text } from '../../../../contract/scalars.js';
import { BOUNDS, ConversationRef, schemaVersion } from '../conversations/conversations.schemas.js';

export const ExternalActor = contract(
  'ExternalActor',
  z.strictObject({
    id: text.max(255).describe('The id at the provider.'),
    display_name: text.max(255).describe('The name for people.'),
    is_bot: z.boolean().describe('Whether it is a program.'),
  }),
  'Who has written something outside. What bots write is not filtered: an adapter drops what it has written itself.',
);
export type ExternalActor = z.infer<typeof ExternalActor>;

export const ExternalAttachment = contract(
  'ExternalAttachment',
  z.strictObject({
    provider_id: text.max(512).describe('The id of the file at the provider.'),
    url: text.max(2048).meta({ description: 'Shown, and never fetched by the service.' }),
    mime_type: text.max(255).default('application/octet-stream').describe('Its media type.'),
  }),
  'A file at a provider.',
);
export type ExternalAttachment = z.infer<typeof ExternalAttachment>;

export const TranscriptMessageKind = contract(
  'TranscriptMessageKind',
  z.enum(['inbound', 'outbound']),
  '`inbound`: from outside. `outbound`: of a session.',
);
export const TranscriptProvenance = contract(
  'TranscriptProvenance',
  z.enum(['live', 'hydrated']),
  '`live`: as it was said. `hydrated`: brought in later.',
);

export const ConversationTranscriptRecord = contract(
  'ConversationTranscriptRecord',
  z.strictObject({
    ID: z.string(),
    SchemaVersion: schemaVersion,
    Conversation: ConversationRef,
    Sequence: int64.meta({ description: 'From 1, without gaps.' }),
    Kind: TranscriptMessageKind,
    Provenance: TranscriptProvenance,
    ProviderMessageID: z.string().describe('The id of the message at its provider. Empty when there is none.'),
    Actor: ExternalActor,
    Text: z.string().describe('What was said.'),
    ExplicitTarget: z.string().describe('The handle that was named. Empty when none was.'),
    ReplyToMessageID: z.string().describe('The provider’s id of the message that it answers. Empty when there is none.'),
    Attachments: z.array(ExternalAttachment).nullable().describe('Files that belong to it. Null is the same as none.'),
    SourceSessionID: z.string(),
    CreatedAt: z.string().describe('When it was recorded. RFC 3339 in UTC.'),
    Metadata: z.record(z.string(), z.string()),
  }),
  'An entry of the transcript of a conversation.',
);
export type ConversationTranscriptRecord = z.infer<typeof ConversationTranscriptRecord>;

export const ListBodyConversationTranscriptRecord = contract(
  'ListBodyConversationTranscriptRecord',
  z.strictObject({
    items: z.array(ConversationTranscriptRecord).nullable(),
    total: int64,
    next_cursor: z.string().optional().meta({ description: 'To be given as `cursor`; absent on the last page.' }),
    partial: z.boolean().optional(),
    partial_errors: z.array(z.string()).nullable().optional(),
    earliest_sequence: int64.optional().meta({ description: 'Of the oldest entry that is kept.' }),
    latest_sequence: int64.optional().describe('The number of the newest entry. 0 or absent when there is none.'),
  }),
  'A page of what was said in a conversation.',
);
export type ListBodyConversationTranscriptRecord = z.infer<typeof ListBodyConversationTranscriptRecord>;

export const TranscriptQuery = z.strictObject({
  scope_id: queryText({ max: BOUNDS.scope }),
  provider: queryText({ max: BOUNDS.provider }),
  account_id: queryText({ max: BOUNDS.account }),
  conversation_id: queryText({ max: BOUNDS.conversation }),
  parent_conversation_id: queryText({ max: BOUNDS.conversation }),
  kind: queryEnum(['dm', 'room', 'thread']),
  after_sequence: queryInt().describe('Only above it.'),
  before_sequence: queryInt().describe('Only below it.'),
  session_id: queryText({ max: BOUNDS.session }).describe('Only what this member has not read yet.'),
  limit: queryInt({ default: 100 }).describe('500 at the most.'),
  order: queryEnum(['asc', 'desc']).describe('asc unless said.'),
  cursor: queryText({ max: 128 }),
});
export type TranscriptQuery = z.infer<typeof TranscriptQuery>;

export const ExtMsgTranscriptAckInputBody = contract(
  'ExtMsgTranscriptAckInputBody',
  z.strictObject({
    conversation: demanded(ConversationRef.optional()),
    session_id: text.min(1).max(BOUNDS.session).meta({ description: 'The member: a session, or the configured name that is one.' }),
    sequence: int64.optional().describe('Up to where it has been read. Absent, 0 or less than before: nothing changes.'),
  }),
  'How far a member has read.',
);
export type ExtMsgTranscriptAckInput = z.infer<typeof ExtMsgTranscriptAckInputBody>;
