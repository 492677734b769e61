import { z } from 'zod';
import { contract } from '../../../../contract/registry.js';
import { instant, int64, text } from '../../../../contract/scalars.js';
import { SessionBindingRecord } from '../bindings/bindings.schemas.js';
import { BOUNDS, ConversationRef } from '../conversations/conversations.schemas.js';
import { ConversationTranscriptRecord, ExternalActor, ExternalAttachment } from '../transcript/transcript.schemas.js';

/** Bytes of one message. */
const LONGEST_TEXT = 64 * 1024;
const body = text.refine((value) => Buffer.byteLength(value) <= LONGEST_TEXT, `must be ${LONGEST_TEXT} bytes at the most`);
export const messageText = body;

export const ExternalInboundMessage = contract(
  'ExternalInboundMessage',
  z.strictObject({
    provider_message_id: text
      .max(BOUNDS.message)
      .meta({ description: 'What has come under it before is not taken again. Empty, everything is.' }),
    conversation: ConversationRef,
    actor: ExternalActor,
    text: body.describe('What was said. 64 KiB at the most.'),
    received_at: instant.describe('When it was said outside. RFC 3339.'),
    explicit_target: text
      .max(BOUNDS.handle)
      .optional()
      .meta({ description: 'The handle that is meant. It is not looked for in the text.' }),
    reply_to_message_id: text.max(BOUNDS.message).optional(),
    attachments: z.array(ExternalAttachment).max(20).nullable().optional(),
    dedup_key: text
      .max(BOUNDS.message)
      .optional()
      .meta({ description: 'What tells it from others where there is no `provider_message_id`.' }),
  }),
  'A message from outside.',
);
export type ExternalInboundMessage = z.infer<typeof ExternalInboundMessage>;

export const ExtMsgInboundInputBody = contract(
  'ExtMsgInboundInputBody',
  z.strictObject({
    message: ExternalInboundMessage.optional().describe('The message, where the adapter has already read it. Instead of `payload`.'),
    provider: text.max(BOUNDS.provider).optional().describe('The provider, with `payload`.'),
    account_id: text.max(BOUNDS.account).optional().describe('The account, with `payload`.'),
    payload: text
      .optional()
      .meta({ contentEncoding: 'base64' })
      .describe('What the provider has sent, as it is, in base64. No adapter reads it here: it is refused (422).'),
  }),
  'A message from outside, handed over by an adapter.',
);
export type ExtMsgInboundInput = z.infer<typeof ExtMsgInboundInputBody>;

export const GroupRouteDecision = contract(
  'GroupRouteDecision',
  z.strictObject({
    Match: z.string().meta({ description: 'explicit_target, last_addressed, default, no_match or no_group.' }),
    TargetSessionID: z.string(),
    UpdateCursor: z.boolean().meta({ description: 'It is remembered as who was addressed last.' }),
  }),
  'Which member of a group is meant.',
);
export type GroupRouteDecision = z.infer<typeof GroupRouteDecision>;

export const InboundResult = contract(
  'InboundResult',
  z.strictObject({
    Message: ExternalInboundMessage,
    Binding: SessionBindingRecord.nullable().describe('Who answers in the conversation. Null when nobody does, or a group does.'),
    GroupRoute: GroupRouteDecision.nullable().describe('Which member of the group is meant. Null without a group.'),
    TranscriptEntry: ConversationTranscriptRecord.nullable().meta({ description: 'Null for what nobody answers: it is not recorded.' }),
    TargetSessionID: z.string(),
    TargetAgentName: z.string().describe('The configured name that it is for. Empty when it is for a session.'),
    Duplicate: z.boolean().optional().meta({ description: 'It had come before; nobody is told again.' }),
    Members: int64.optional().meta({ description: 'How many are told.' }),
  }),
  'What became of a message from outside.',
);
export type InboundResult = z.infer<typeof InboundResult>;
