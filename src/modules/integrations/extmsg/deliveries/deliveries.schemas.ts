import { z } from 'zod';
import { queryEnum, queryInt, queryList, queryText } from '../../../../contract/query.js';
import { contract } from '../../../../contract/registry.js';
import { int64, text } from '../../../../contract/scalars.js';
import { ConversationRef } from '../conversations/conversations.schemas.js';

export const DIRECTIONS = ['inbound', 'peer', 'outbound'] as const;
export type DeliveryDirection = (typeof DIRECTIONS)[number];
export const DELIVERY_STATES = ['pending', 'queued', 'delivered', 'failed', 'skipped'] as const;
export type DeliveryState = (typeof DELIVERY_STATES)[number];

export const DeliveryIdParam = text.min(1).max(64).describe('The id of the delivery.');

export const ExtmsgDelivery = contract(
  'ExtmsgDelivery',
  z.strictObject({
    id: z.string(),
    direction: z.enum(DIRECTIONS).meta({
      description: 'inbound: a member is told what came from outside. peer: what another has published. outbound: to the adapter.',
    }),
    state: z.enum(DELIVERY_STATES).meta({ description: 'queued: it waits in the line of its session. skipped: nobody was to be told.' }),
    conversation: ConversationRef,
    sequence: int64.optional().meta({ description: 'The entry that it is about.' }),
    session: z.string().meta({ description: 'Who is told, or who has published.' }),
    text: z.string().meta({ description: 'Its first 1024 characters.' }),
    message_id: z.string().optional().meta({ description: "In the session's messages." }),
    attempts: int64,
    error_code: z.string().optional(),
    error: z.string().optional(),
    created_at: z.string(),
    next_attempt_at: z.string().optional().describe('When it is tried again. RFC 3339 in UTC; absent when it is not.'),
    ended_at: z.string().optional(),
  }),
  'A message on its way, and what became of it.',
);
export type ExtmsgDelivery = z.infer<typeof ExtmsgDelivery>;

export const ListBodyExtmsgDelivery = contract(
  'ListBodyExtmsgDelivery',
  z.strictObject({ items: z.array(ExtmsgDelivery), total: int64, next_cursor: z.string().optional() }),
  'A page of deliveries.',
);
export type ListBodyExtmsgDelivery = z.infer<typeof ListBodyExtmsgDelivery>;

export const DeliveriesQuery = z.strictObject({
  status: queryList({ max: 10 })
    .refine((values) => values === undefined || values.every((v) => (DELIVERY_STATES as readonly string[]).includes(v)), {
      error: `must be among ${DELIVERY_STATES.join(', ')}`,
    })
    .describe('Only these states, by commas.'),
  direction: queryEnum(DIRECTIONS),
  limit: queryInt({ min: 0, max: 1000, default: 100 }),
  cursor: queryText({ max: 128 }),
});
export type DeliveriesQuery = z.infer<typeof DeliveriesQuery>;
