import { z } from 'zod';
import { contract } from '../registry.js';
import { int64 } from '../scalars.js';
import { defineEvent } from './define.js';

export const WebhookReceivedPayload = contract(
  'WebhookReceivedPayload',
  z.strictObject({
    body_size: int64,
    deduped: z.boolean().describe('True when the same delivery had come before.'),
    dispatched: z.boolean().describe('Whether it has fired an order.'),
    matched: z.boolean().describe('Whether a rule fits it.'),
    rule_index: int64.describe('The number of that rule, from 0; -1 when none fits.'),
    webhook: z.string(),
    dedup_id: z.string().optional(),
    event_type: z.string().optional(),
    order: z.string().optional().describe('The order of that rule.'),
    rig: z.string().optional(),
    scheme: z.string().optional(),
    scoped_name: z.string().optional(),
    tracking_id: z.string().optional(),
  }),
  'A webhook has come, and what it led to.',
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
    status: int64.optional().describe('The HTTP status of the answer.'),
  }),
  'A webhook was refused.',
);

export const WebhookReceived = defineEvent('webhook.received', 1, WebhookReceivedPayload, 'A delivery was accepted.');
export const WebhookRejected = defineEvent(
  'webhook.rejected',
  1,
  WebhookRejectedPayload,
  'A delivery was refused; six at once and six a minute a webhook are told.',
);
