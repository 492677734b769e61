import { z } from 'zod';
import { contract, demanded } from '../../../../contract/registry.js';
import { int64, text } from '../../../../contract/scalars.js';
import { BOUNDS, ConversationRef, schemaVersion } from '../conversations/conversations.schemas.js';
import { messageText } from '../inbound/inbound.schemas.js';
import { ConversationTranscriptRecord, ExternalAttachment } from '../transcript/transcript.schemas.js';

export const ExtMsgOutboundInputBody = contract(
  'ExtMsgOutboundInputBody',
  z.strictObject({
    session_id: text.min(1).max(BOUNDS.session).meta({ description: 'Who publishes: it has the conversation, or a handle in its group.' }),
    conversation: demanded(ConversationRef.optional()),
    text: messageText.optional().describe('What is to be published. 64 KiB at the most.'),
    reply_to_message_id: text.max(BOUNDS.message).optional(),
    explicit_target: text
      .max(BOUNDS.handle)
      .optional()
      .meta({ description: 'The handle in the group that is meant; the others get a copy.' }),
    attachments: z.array(ExternalAttachment).max(20).optional(),
    idempotency_key: text.max(255).optional().meta({ description: 'Published once under it. The adapter gets it with every try.' }),
  }),
  'A message that a session publishes.',
);
export type ExtMsgOutboundInput = z.infer<typeof ExtMsgOutboundInputBody>;

export const PublishReceipt = contract(
  'PublishReceipt',
  z.strictObject({
    MessageID: z.string().describe('The provider’s id of what was published. Empty when it was not.'),
    Conversation: ConversationRef,
    Delivered: z.boolean().describe('Whether it was published.'),
    FailureKind: z.string().meta({
      description:
        'pending while it is still tried; auth, not_found, rate_limited, permanent, transient, unsupported or fenced when it has failed.',
    }),
    RetryAfter: int64.meta({ description: 'Nanoseconds.' }),
    Metadata: z.record(z.string(), z.string()).nullable(),
    Error: z.string().optional().meta({ description: 'What the last try has come to.' }),
  }),
  'What an adapter has answered.',
);
export type PublishReceipt = z.infer<typeof PublishReceipt>;

export const DeliveryContextRecord = contract(
  'DeliveryContextRecord',
  z.strictObject({
    ID: z.string(),
    SchemaVersion: schemaVersion,
    SessionID: z.string().describe('The session that has the conversation.'),
    Conversation: ConversationRef,
    BindingGeneration: int64.describe('The binding under which it was published.'),
    LastPublishedAt: z.string().describe('When that was. RFC 3339 in UTC.'),
    LastMessageID: z.string().describe('The provider’s id of what was published.'),
    SourceSessionID: z.string(),
    Metadata: z.record(z.string(), z.string()).nullable(),
  }),
  'What a session has published last in a conversation that it has.',
);
export type DeliveryContextRecord = z.infer<typeof DeliveryContextRecord>;

export const OutboundResult = contract(
  'OutboundResult',
  z.strictObject({
    Receipt: PublishReceipt.describe('What the adapter has answered.'),
    DeliveryContext: DeliveryContextRecord.nullable().describe(
      'What the session has published last there. Null when it does not have the conversation.',
    ),
    TranscriptEntry: ConversationTranscriptRecord.nullable().describe('The entry of the transcript. Null while it is not published.'),
    DeliveryID: z.string().optional().meta({ description: 'Under it the publication is in the list of deliveries.' }),
  }),
  'What became of a message that a session publishes.',
);
export type OutboundResult = z.infer<typeof OutboundResult>;
