import { z } from 'zod';
import { contract } from '../registry.js';
import { int64 } from '../scalars.js';
import { defineEvent } from './define.js';

export const WebhookReceivedPayload = contract(
  'WebhookReceivedPayload',
  z.strictObject({
    body_size: int64,
    deduped: z.boolean(),
    dispatched: z.boolean(),
    matched: z.boolean(),
    rule_index: int64,
    webhook: z.string(),
    dedup_id: z.string().optional(),
    event_type: z.string().optional(),
    order: z.string().optional(),
    rig: z.string().optional(),
    scheme: z.string().optional(),
    scoped_name: z.string().optional(),
    tracking_id: z.string().optional(),
  }),
);
export type WebhookReceivedPayload = z.infer<typeof WebhookReceivedPayload>;
export const WebhookRejectedPayload = contract(
  'WebhookRejectedPayload',
  z.strictObject({
    reason: z.string(),
    webhook: z.string(),
    body_size: int64.optional(),
    dedup_id: z.string().optional(),
    event_type: z.string().optional(),
    scheme: z.string().optional(),
    status: int64.optional(),
  }),
);

export const WebhookReceived = defineEvent('webhook.received', 1, WebhookReceivedPayload);
export const WebhookRejected = defineEvent('webhook.rejected', 1, WebhookRejectedPayload);
