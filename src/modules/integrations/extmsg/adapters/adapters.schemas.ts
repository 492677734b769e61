import { z } from 'zod';
import { contract } from '../../../../contract/registry.js';
import { int64, text } from '../../../../contract/scalars.js';
import { BOUNDS } from '../conversations/conversations.schemas.js';

export const AdapterCapabilities = contract(
  'AdapterCapabilities',
  z.strictObject({
    SupportsChildConversations: z.boolean().describe('Whether it knows threads of a room as conversations of their own.'),
    SupportsAttachments: z.boolean().meta({ description: 'Without it what has attachments is refused.' }),
    MaxMessageLength: z
      .int()
      .min(0)
      .max(1_000_000)
      .meta({ description: 'In characters; what is longer is refused. 0 is no limit of the adapter.' }),
  }),
  'What an adapter can do.',
);
export type AdapterCapabilities = z.infer<typeof AdapterCapabilities>;

export const AdapterTransport = z.enum(['callback', 'stream']);
export type AdapterTransport = z.infer<typeof AdapterTransport>;

const provider = text.min(1).max(BOUNDS.provider);
const account_id = text.min(1).max(BOUNDS.account);

export const ExtMsgAdapterRegisterInputBody = contract(
  'ExtMsgAdapterRegisterInputBody',
  z.strictObject({
    provider,
    account_id,
    name: text.max(255).optional().describe('The name for people. Absent: `<provider>/<account>`.'),
    callback_url: text
      .max(2048)
      .optional()
      .meta({ description: 'Where what sessions publish is sent: `/publish` is put after it. Without it, nothing.' }),
    transport: AdapterTransport.optional().meta({
      description:
        'How it takes what sessions publish: at `callback_url`, or from `…/extmsg/publications/stream`, without an address of its own.',
    }),
    capabilities: AdapterCapabilities.optional(),
    lease_seconds: z.int().min(30).max(86_400).optional().meta({
      description: 'It is called no more when it has not been registered again, or written, for this long. Left out, it needs not.',
    }),
    rotate_secret: z.boolean().optional().meta({ description: 'Make a new token and a new secret; the old ones are good no more.' }),
  }),
  'What speaks for an account.',
);
export type ExtMsgAdapterRegisterInput = z.infer<typeof ExtMsgAdapterRegisterInputBody>;

export const ExtMsgAdapterRegisterOutputBody = contract(
  'ExtMsgAdapterRegisterOutputBody',
  z.strictObject({
    status: z.string().describe('Always `registered`.'),
    provider: z.string(),
    account_id: z.string(),
    name: z.string(),
    token: z.string().optional().meta({ description: 'Shown once: with it the adapter calls, for its own account and nothing else.' }),
    secret: z.string().optional().meta({ description: 'Shown once: with it the calls to the adapter are signed.' }),
  }),
  'The adapter is registered.',
);
export type ExtMsgAdapterRegisterOutput = z.infer<typeof ExtMsgAdapterRegisterOutputBody>;

export const ExtMsgAdapterUnregisterInputBody = contract(
  'ExtMsgAdapterUnregisterInputBody',
  z.strictObject({ provider, account_id }),
  'The account whose adapter goes.',
);
export type ExtMsgAdapterUnregisterInput = z.infer<typeof ExtMsgAdapterUnregisterInputBody>;

const AdapterHealth = z.enum(['ok', 'failing', 'stale', 'no_callback', 'disconnected']);

export const ExtmsgAdapterInfo = contract(
  'ExtmsgAdapterInfo',
  z.strictObject({
    provider: z.string(),
    account_id: z.string(),
    name: z.string(),
    callback_url: z.string().optional().describe('Where what sessions publish is sent. Empty or absent: nowhere.'),
    transport: AdapterTransport.optional(),
    connections: int64.optional().meta({ description: 'Streams that are open for it, at any replica.' }),
    capabilities: AdapterCapabilities.optional(),
    health: AdapterHealth.optional().meta({
      description:
        'failing: its last calls failed, or were not acknowledged. stale: its lease has run out. no_callback: it takes nothing. disconnected: ' +
        'no stream is open for it; what is published waits for a day.',
    }),
    last_error: z.string().optional(),
    registered_at: z.string().optional(),
    last_seen_at: z.string().optional().describe('When it was heard of last. RFC 3339 in UTC.'),
    lease_until: z.string().optional(),
  }),
  'What speaks for an account, and how it is.',
);
export type ExtmsgAdapterInfo = z.infer<typeof ExtmsgAdapterInfo>;

export const ListBodyExtmsgAdapterInfo = contract(
  'ListBodyExtmsgAdapterInfo',
  z.strictObject({
    items: z.array(ExtmsgAdapterInfo).nullable(),
    total: int64,
    next_cursor: z.string().optional(),
    partial: z.boolean().optional(),
    partial_errors: z.array(z.string()).nullable().optional(),
  }),
  'The adapters.',
);
export type ListBodyExtmsgAdapterInfo = z.infer<typeof ListBodyExtmsgAdapterInfo>;
