import { z } from 'zod';
import { queryInt, queryList, queryText } from '../../../contract/query.js';
import { contract } from '../../../contract/registry.js';
import { int64, text } from '../../../contract/scalars.js';
import { INTENTS, MESSAGE_STATUSES } from './message-row.js';

export const SessionParam = text.min(1).max(255).describe('The session: its id, its name or its alias.');
export const MessageIdParam = text.min(1).max(64).describe('The id of the message.');

const message = text.min(1).regex(/\S/, 'must hold more than white space');

export const SubmitIntent = contract(
  'SubmitIntent',
  z.enum(INTENTS),
  'When a message is given to a session: `default` and `follow_up` wait for the end of a turn, `interrupt_now` ends it.',
);

export const SessionMessageInputBody = contract(
  'SessionMessageInputBody',
  z.strictObject({ message: message.describe('What the session is told.') }),
  'A message to a session.',
);
export type SessionMessageInput = z.infer<typeof SessionMessageInputBody>;

export const SessionSubmitInputBody = contract(
  'SessionSubmitInputBody',
  z.strictObject({ message: message.describe('What the session is told.'), intent: SubmitIntent.optional() }),
  'A message to a session, and when it is to have it.',
);
export type SessionSubmitInput = z.infer<typeof SessionSubmitInputBody>;

export const SessionMessageRecord = contract(
  'SessionMessageRecord',
  z.strictObject({
    id: z.string(),
    status: z.enum(MESSAGE_STATUSES).describe('How far it is. `unconfirmed`: its process was lost, and nobody knows whether it was read.'),
    intent: SubmitIntent,
    source: z.string().meta({ description: 'create, message, submit, wait, nudge, or external: from outside, or about it.' }),
    sender: z.string().describe('Who sent it.'),
    message: z.string().meta({ description: 'In lists cut to its first 4096 characters.' }),
    truncated: z.boolean().optional().describe('True when `message` was cut.'),
    request_id: z.string().optional().meta({ description: 'The operation that ends with it.' }),
    reference: z.string().optional().meta({ description: 'What it is about, such as the id of a wait.' }),
    created_at: z.string(),
    deliver_after: z.string().optional().describe('It is not given to the session before then. RFC 3339 in UTC.'),
    expires_at: z.string().meta({ description: 'Undelivered until then it is dropped.' }),
    ended_at: z.string().optional(),
    generation: int64.optional().meta({ description: 'The process that it was given to.' }),
    stop_reason: z
      .string()
      .optional()
      .describe('How its turn has ended: what the agent says, `failed`, or `lost` with its process. Absent before, and without a turn.'),
    error_code: z.string().optional(),
    error_message: z.string().optional(),
  }),
  'A message on its way to a session, and what became of it.',
);
export type SessionMessageRecord = z.infer<typeof SessionMessageRecord>;

export const ListBodySessionMessage = contract(
  'ListBodySessionMessage',
  z.strictObject({ items: z.array(SessionMessageRecord), next_cursor: z.string().optional() }),
  'A page of messages of a session.',
);
export type ListBodySessionMessage = z.infer<typeof ListBodySessionMessage>;

export const MessagesQuery = z.strictObject({
  status: queryList({ max: 10 })
    .refine((values) => values === undefined || values.every((v) => (MESSAGE_STATUSES as readonly string[]).includes(v)), {
      error: `must be among ${MESSAGE_STATUSES.join(', ')}`,
    })
    .describe('Only these statuses, by commas.'),
  limit: queryInt({ min: 0, max: 1000, default: 100 }),
  cursor: queryText(),
});
export type MessagesQuery = z.infer<typeof MessagesQuery>;
