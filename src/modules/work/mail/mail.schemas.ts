import { z } from 'zod';
import { parseDuration } from '../../../contract/duration.js';
import { Message } from '../../../contract/mail.schemas.js';
import { blockingRead, queryInt, queryText } from '../../../contract/query.js';
import { contract } from '../../../contract/registry.js';
import { int64, text, titleOf } from '../../../contract/scalars.js';

export const SUBJECT_MAX = 500;
const BODY_BYTES = 256 * 1024;
const ADDRESS_MAX = 255;
const ADDRESSES_MAX = 1000;
const BROADCAST_MAX = 5000;

const address = text.min(1).max(ADDRESS_MAX);
const sender = text.max(ADDRESS_MAX).optional();
const subject = titleOf(SUBJECT_MAX);
const body = text
  .max(BODY_BYTES)
  .refine((value) => Buffer.byteLength(value) <= BODY_BYTES, 'must not be longer than 256 KiB')
  .optional();
const rig = text
  .max(ADDRESS_MAX)
  .optional()
  .describe('The rig that it is about, where addresses without a rig are looked for first. Absent, empty or the name of the city: none.');
const priority = z
  .int()
  .min(0)
  .max(4)
  .optional()
  .describe('How urgent it is: from 0, the most urgent, to 4. It is only told to who reads it.');

export const MailSendInputBody = contract(
  'MailSendInputBody',
  z.strictObject({
    to: address.describe('Who gets it: `human`, or the address of an agent or of a configured named session. It must name exactly one.'),
    subject,
    from: sender.describe('Who sends it. Absent: the caller.'),
    body,
    rig,
    cc: z
      .array(address)
      .max(ADDRESSES_MAX)
      .optional()
      .describe('Who else gets it: each a copy in the same thread. A thousand at the most.'),
    priority,
  }),
  'A message to be sent.',
);
export type MailSendInputBody = z.infer<typeof MailSendInputBody>;

export const MailBroadcastInputBody = contract(
  'MailBroadcastInputBody',
  z.strictObject({
    subject,
    to: z
      .array(address)
      .max(BROADCAST_MAX)
      .optional()
      .describe('Who gets it: 5,000 at the most. Absent: every agent and configured named session of the city but the sender.'),
    from: sender.describe('Who sends it. Absent: the caller.'),
    body,
    rig,
    priority,
  }),
  'A message to many.',
);
export type MailBroadcastInputBody = z.infer<typeof MailBroadcastInputBody>;

export const MailReplyInputBody = contract(
  'MailReplyInputBody',
  z.strictObject({
    from: sender.describe('Who sends it. Absent: the caller.'),
    subject: text.max(SUBJECT_MAX).optional().describe('What it is about. Absent: `Re:` and the subject before.'),
    body,
  }),
  'A reply.',
);
export type MailReplyInputBody = z.infer<typeof MailReplyInputBody>;

export const MailListBody = contract(
  'MailListBody',
  z.strictObject({
    items: z.array(Message).nullable(),
    total: int64,
    total_is_estimate: z.boolean().optional(),
    next_cursor: z.string().optional(),
    partial: z.boolean().optional(),
    partial_errors: z.array(z.string()).nullable().optional(),
  }),
  'A page of messages.',
);
export type MailListBody = z.infer<typeof MailListBody>;

export const MailBroadcastOutputBody = contract(
  'MailBroadcastOutputBody',
  z.strictObject({
    ...MailListBody.omit({ total_is_estimate: true }).shape,
    request_id: z.string().optional().describe('Of one to many that goes on in the background. Absent: all of it is sent.'),
    event_cursor: z
      .string()
      .optional()
      .describe('With `request_id`: the position of the city’s log before the first of the messages, to be given as `after_seq`.'),
  }),
  'The messages that were sent; with `request_id` none yet, and `total` says how many there will be.',
);
export type MailBroadcastOutputBody = z.infer<typeof MailBroadcastOutputBody>;

export const MailCountOutputBody = contract(
  'MailCountOutputBody',
  z.strictObject({
    total: int64.describe('How many messages there are.'),
    unread: int64,
    partial: z.boolean().optional(),
    partial_errors: z.array(z.string()).nullable().optional(),
  }),
  'How many messages there are that are not archived.',
);
export type MailCountOutputBody = z.infer<typeof MailCountOutputBody>;

const MINUTE_MS = 60_000;
const MAX_MS = 10 * 365 * 24 * 60 * MINUTE_MS;

export const MailSettings = contract(
  'MailSettings',
  z.strictObject({
    unread_retention: z
      .string()
      .max(100)
      .refine((value) => {
        const ms = parseDuration(value) ?? 0;
        return ms >= MINUTE_MS && ms <= MAX_MS;
      }, 'must be a duration from 1m to 87600h')
      .nullable()
      .describe('After how long unread mail is archived by itself: a duration from `1m` to `87600h`; null: never.'),
  }),
  'Unread mail older than `unread_retention` is archived by itself; null keeps it for ever.',
);
export type MailSettings = z.infer<typeof MailSettings>;

/** It divides nothing: mail is a city's. */
const inRig = queryText().describe(
  'What messages without a rig show as theirs, and where bare addresses are looked for first; it leaves none out. Of a rig that is not there nothing is found.',
);

export const MailListQuery = z.strictObject({
  ...blockingRead,
  cursor: queryText(),
  limit: queryInt({ min: 0, max: 1000, default: 100 }),
  agent: queryText().describe('Only the mail of this agent, or of `human`.'),
  status: queryText().describe('`unread` (the default), `all` that is not archived, or `archived`.'),
  rig: inRig,
  thread: queryText().describe('Only of this thread, by its id.'),
  from: queryText().describe('Only from this sender.'),
  text: queryText(),
});
export type MailListQuery = z.infer<typeof MailListQuery>;

export const MailCountQuery = z.strictObject({ agent: queryText().describe('Only the mail of this agent, or of `human`.'), rig: inRig });
export type MailCountQuery = z.infer<typeof MailCountQuery>;

export const MailThreadQuery = z.strictObject({
  cursor: queryText(),
  limit: queryInt({ min: 0, max: 1000, default: 1000 }),
  rig: inRig,
});
export type MailThreadQuery = z.infer<typeof MailThreadQuery>;

export const MailRigQuery = z.strictObject({
  rig: queryText().describe('What a message without a rig shows as its own. One that is not there is refused.'),
});
export type MailRigQuery = z.infer<typeof MailRigQuery>;

/** The path parameter `id`: whether it names a message is the city's to say. */
export const MailIdParam = text.min(1).describe('The id of the message.');
export const MailThreadParam = text.min(1).describe('The id of the thread, or of any message in it.');
