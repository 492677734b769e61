import { z } from 'zod';
import { contract } from '../../../contract/registry.js';
import { queryFlag, queryInt, queryText } from '../../../contract/query.js';
import { dateTime, instant, int64, text } from '../../../contract/scalars.js';
import { MonitorFeedItemResponse } from '../runs/formula-runs.schemas.js';
import { TRIGGERS } from './order-definition.js';

export const OrderNameParam = text.min(1).max(300);
export const FiringIdParam = text.min(1).max(128);

const optional = z.string().optional();

export const OrderOrigin = contract(
  'OrderOrigin',
  z.strictObject({ file: z.string(), key: z.string() }),
  'Where a value of an order was written: its file, or an override of the city.',
);

export const OrderResponse = contract(
  'OrderResponse',
  z.strictObject({
    name: z.string(),
    scoped_name: z.string().meta({ description: '`<order>` for the city, `<order>:rig:<rig>` for a rig.' }),
    type: z.enum(['exec', 'formula']),
    enabled: z.boolean(),
    capture_output: z.boolean(),
    timeout_ms: int64,
    rig: optional,
    description: optional,
    exec: optional,
    formula: optional,
    pool: optional,
    trigger: z.enum(TRIGGERS).optional(),
    gate: z.string().optional().meta({ deprecated: true, description: 'The same as `trigger`.' }),
    interval: optional,
    schedule: optional,
    tz: optional,
    check: optional,
    check_timeout: optional,
    check_timeout_ms: int64.optional(),
    on: optional,
    delivery: z.enum(['each', 'coalesce']).optional(),
    catch_up: z.enum(['once', 'none']).optional(),
    timeout: optional,
    idempotent: z.boolean().optional(),
    env: z.record(z.string(), z.string()).optional(),
    params: z.record(z.string(), z.strictObject({ required: z.boolean() })).optional(),
    source: z.strictObject({ file: z.string(), pack: z.string() }).optional(),
    origins: z.record(z.string(), OrderOrigin).optional().meta({ description: 'By key; only of a single order.' }),
    errors: z.array(z.string()).optional().meta({ description: 'Why it is not fired although it is there.' }),
    created_at: dateTime.optional(),
    last_run: dateTime.optional(),
    last_run_outcome: optional,
    next_due_at: dateTime.optional(),
    next: z.array(dateTime).optional().meta({ description: 'The next five firings, as far as they are known; only of a single order.' }),
    consecutive_failures: int64.optional(),
  }),
);
export type OrderResponse = z.infer<typeof OrderResponse>;

export const OrderListBody = contract(
  'OrderListBody',
  z.strictObject({
    orders: z.array(OrderResponse).nullable(),
    errors: z.array(z.string()).optional().meta({ description: 'Overrides that match no order.' }),
    total: int64.optional(),
    next_cursor: z.string().optional(),
  }),
);
export type OrderListBody = z.infer<typeof OrderListBody>;

export const OrdersQuery = z.strictObject({
  enabled: queryFlag().describe('Only those that are, or are not, enabled. All without it.'),
  limit: queryInt({ min: 1, max: 1000, default: 500 }),
  cursor: queryText(),
});
export type OrdersQuery = z.infer<typeof OrdersQuery>;

export const OrderCheckResponse = contract(
  'OrderCheckResponse',
  z.strictObject({
    name: z.string(),
    scoped_name: z.string(),
    due: z.boolean(),
    reason: z.string(),
    rig: optional,
    last_run: dateTime.optional(),
    last_run_outcome: optional,
    next_due_at: dateTime.optional(),
  }),
);
export type OrderCheckResponse = z.infer<typeof OrderCheckResponse>;
export const OrderCheckListBody = contract('OrderCheckListBody', z.strictObject({ checks: z.array(OrderCheckResponse).nullable() }));
export type OrderCheckListBody = z.infer<typeof OrderCheckListBody>;
export const OrderCheckQuery = z.strictObject({ fresh: queryFlag().describe('Has no effect: every answer is fresh.') });

export const OrderHistoryEntry = contract(
  'OrderHistoryEntry',
  z.strictObject({
    bead_id: z.string().meta({ description: 'The id of the firing.' }),
    store_ref: z.string(),
    name: z.string(),
    scoped_name: z.string(),
    created_at: dateTime,
    labels: z.array(z.string()).nullable(),
    capture_output: z.boolean(),
    has_output: z.boolean(),
    rig: optional,
    state: z.enum(['checking', 'queued', 'running', 'done']).optional(),
    outcome: z.enum(['success', 'failed', 'timeout', 'canceled', 'lost']).optional(),
    cause: z.string().optional().meta({ description: 'What fired it: its trigger, or `run` for a run by hand.' }),
    actor: optional,
    reason: optional,
    started_at: dateTime.optional(),
    finished_at: dateTime.optional(),
    duration_ms: optional,
    exit_code: optional,
    signal: optional,
    error: optional,
    output: z.string().optional().meta({ description: 'The end of the output; its last 2,000 characters.' }),
    wisp_root_id: optional,
  }),
);
export type OrderHistoryEntry = z.infer<typeof OrderHistoryEntry>;
export const OrderHistoryListBody = contract(
  'OrderHistoryListBody',
  z.strictObject({ entries: z.array(OrderHistoryEntry).nullable(), next_cursor: z.string().optional() }),
);
export type OrderHistoryListBody = z.infer<typeof OrderHistoryListBody>;
export const OrderHistoryQuery = z.strictObject({
  scoped_name: text.min(1).max(300),
  limit: queryInt({ min: 0, max: 500, default: 20 }),
  before: instant.optional().describe('Only what began before this time. Escape a `+` in it.'),
  cursor: queryText(),
});
export type OrderHistoryQuery = z.infer<typeof OrderHistoryQuery>;

export const OrderHistoryDetailResponse = contract(
  'OrderHistoryDetailResponse',
  z.strictObject({
    bead_id: z.string(),
    store_ref: z.string(),
    created_at: z.string(),
    labels: z.array(z.string()).nullable(),
    output: z.string(),
    entry: OrderHistoryEntry.optional(),
    vars: z.record(z.string(), z.string()).optional(),
    event: z.record(z.string(), z.unknown()).optional().meta({ description: 'The event that fired it.' }),
  }),
);
export type OrderHistoryDetailResponse = z.infer<typeof OrderHistoryDetailResponse>;
export const OrderHistoryDetailQuery = z.strictObject({ store_ref: queryText() });
export type OrderHistoryDetailQuery = z.infer<typeof OrderHistoryDetailQuery>;

export const OrderRunInputBody = contract(
  'OrderRunInputBody',
  z.strictObject({
    vars: z
      .record(text.max(128), text.max(8192))
      .refine((vars) => Object.keys(vars).length <= 100, 'must not have more than 100 members')
      .optional(),
    force: z.boolean().optional().meta({ description: 'Also while another firing of the order is open, and while it is disabled.' }),
  }),
);
export type OrderRunInputBody = z.infer<typeof OrderRunInputBody>;
export const OrderRunOutputBody = contract(
  'OrderRunOutputBody',
  z.strictObject({ status: z.string(), scoped_name: optional, tracking_id: optional }),
);
export type OrderRunOutputBody = z.infer<typeof OrderRunOutputBody>;

export const OrdersFeedBody = contract(
  'OrdersFeedBody',
  z.strictObject({
    items: z.array(MonitorFeedItemResponse).nullable(),
    partial: z.boolean(),
    partial_errors: z.array(z.string()).nullable().optional(),
  }),
);
export type OrdersFeedBody = z.infer<typeof OrdersFeedBody>;
export const OrdersFeedQuery = z.strictObject({
  scope_kind: queryText().describe('`city` or `rig`'),
  scope_ref: queryText().describe('The name of the city, or of the rig.'),
  limit: queryInt({ min: 0, max: 500, default: 50 }),
});
export type OrdersFeedQuery = z.infer<typeof OrdersFeedQuery>;

export const WebhookRule = contract(
  'WebhookRule',
  z.strictObject({
    order: z.string().meta({ description: 'As the rule names it.' }),
    scoped_name: z.string().optional().meta({ description: 'The order that it fires.' }),
    event: optional,
    match: z.record(z.string(), z.string()).optional(),
    args: z.record(z.string(), z.string()).optional(),
    errors: z.array(z.string()).optional().meta({ description: 'Why it fires nothing.' }),
  }),
);
export const WebhookResponse = contract(
  'WebhookResponse',
  z.strictObject({
    name: z.string(),
    scoped_name: z.string().meta({ description: '`<webhook>` for the city, `<webhook>:rig:<rig>` for a rig.' }),
    rig: optional,
    path: z.string().meta({ description: 'Where it is sent to.' }),
    visibility: z.enum(['private', 'public']),
    scheme: z.enum(['hmac-sha256', 'github', 'bearer', 'none']),
    secret_env: z.string().optional().meta({ description: 'The variable of the service that holds what the sender shares with it.' }),
    ready: z.boolean().meta({ description: 'Whether it can receive anything here, at the replica that answers.' }),
    max_per_minute: int64,
    waiting: int64.meta({ description: 'Deliveries that wait until a firing that is open has ended.' }),
    rules: z.array(WebhookRule).nullable(),
    errors: z.array(z.string()).optional().meta({ description: 'Why nothing is received.' }),
  }),
);
export type WebhookResponse = z.infer<typeof WebhookResponse>;
export const WebhookListBody = contract('WebhookListBody', z.strictObject({ webhooks: z.array(WebhookResponse).nullable() }));
export type WebhookListBody = z.infer<typeof WebhookListBody>;
