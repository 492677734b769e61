import { z } from 'zod';
import { boundedMap } from '../../../contract/bounded-map.js';
import { contract, demanded } from '../../../contract/registry.js';
import { queryFlag, queryInt, queryText } from '../../../contract/query.js';
import { dateTime, instant, int64, text } from '../../../contract/scalars.js';
import { MonitorFeedItemResponse } from '../runs/formula-runs.schemas.js';
import { TRIGGERS } from './order-definition.js';

export const OrderNameParam = text.min(1).max(300).describe('The order: `<name>`, or `<name>:rig:<rig>` for that of a rig.');
export const FiringIdParam = text.min(1).max(128).describe('The id of the firing.');

const optional = z.string().optional();

export const OrderOrigin = contract(
  'OrderOrigin',
  z.strictObject({ file: z.string(), key: z.string().describe('The key under which it stands there.') }),
  'Where a value of an order was written: its file, or an override of the city.',
);

export const OrderResponse = contract(
  'OrderResponse',
  z.strictObject({
    name: z.string(),
    scoped_name: z.string().meta({ description: '`<order>` for the city, `<order>:rig:<rig>` for a rig.' }),
    type: z.enum(['exec', 'formula']).describe('`exec` runs a command, `formula` launches a run.'),
    enabled: z.boolean().describe('Whether it is fired by itself.'),
    capture_output: z.boolean(),
    timeout_ms: int64.describe('How long its command may take, in milliseconds. 0 for a formula: its launch has no limit.'),
    rig: optional,
    description: optional,
    exec: optional.describe('The command that it runs.'),
    formula: optional.describe('The formula that it launches.'),
    pool: optional.describe('The agents that its run is for.'),
    trigger: z.enum(TRIGGERS).optional().describe('What fires it.'),
    gate: z.string().optional().meta({ deprecated: true, description: 'The same as `trigger`.' }),
    interval: optional.describe('How much time lies between two firings: a duration.'),
    schedule: optional.describe('When it is fired, as cron says it.'),
    tz: optional.describe('The time zone of the schedule. Absent: that of the workspace, UTC without one.'),
    check: optional.describe('The command that says with status 0 that it is due.'),
    check_timeout: optional.describe('How long that command may take: a duration.'),
    check_timeout_ms: int64.optional().describe('The same in milliseconds.'),
    on: optional.describe('The kind of event that fires it.'),
    delivery: z.enum(['each', 'coalesce']).optional().describe('Whether each event fires it, or several at once fire it once.'),
    catch_up: z
      .enum(['once', 'none'])
      .optional()
      .describe('What becomes of firings that were missed: `once` makes up for them with one, `none` leaves them out.'),
    timeout: optional.describe('How long its command may take: a duration.'),
    idempotent: z.boolean().optional().describe('Whether it may be done again when its worker has died.'),
    env: z.record(z.string(), z.string()).optional().describe('Variables of its process. Values are masked.'),
    params: z
      .record(z.string(), z.strictObject({ required: z.boolean().describe('Whether it has to be given.') }))
      .optional()
      .describe('What it has to be given, by name.'),
    source: z
      .strictObject({ file: z.string(), pack: z.string() })
      .optional()
      .describe('The file that it comes from, and the pack that has the file.'),
    origins: z.record(z.string(), OrderOrigin).optional().meta({ description: 'By key; only of a single order.' }),
    errors: z.array(z.string()).optional().meta({ description: 'Why it is not fired although it is there.' }),
    created_at: dateTime.optional(),
    last_run: dateTime.optional(),
    last_run_outcome: optional,
    next_due_at: dateTime.optional(),
    next: z.array(dateTime).optional().meta({ description: 'The next five firings, as far as they are known; only of a single order.' }),
    consecutive_failures: int64.optional().describe('How many firings in a row have failed.'),
  }),
  'What is done again and again.',
);
export type OrderResponse = z.infer<typeof OrderResponse>;

export const OrderListBody = contract(
  'OrderListBody',
  z.strictObject({
    orders: z.array(OrderResponse).nullable().describe('The orders of this page. Null is the same as none.'),
    errors: z
      .array(z.string())
      .optional()
      .meta({ description: 'Overrides that match no order; of more than 100 the last line says how many there are.' }),
    total: int64.optional(),
    next_cursor: z.string().optional(),
  }),
  'A page of orders.',
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
    due: z.boolean().describe('Whether it would be fired now.'),
    reason: z.string().describe('Why it is due, or why it is not.'),
    rig: optional,
    last_run: dateTime.optional(),
    last_run_outcome: optional,
    next_due_at: dateTime.optional(),
  }),
  'Whether an order is due.',
);
export type OrderCheckResponse = z.infer<typeof OrderCheckResponse>;
export const OrderCheckListBody = contract(
  'OrderCheckListBody',
  z.strictObject({
    checks: z.array(OrderCheckResponse).nullable().describe('The orders and whether they are due. Null is the same as none.'),
  }),
  'Which orders are due.',
);
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
    has_output: z.boolean().describe('Whether it wrote anything that was kept.'),
    rig: optional,
    state: z
      .enum(['checking', 'queued', 'running', 'done'])
      .optional()
      .describe('How far the firing is: `checking` its condition, `queued` for a worker, `running` or `done`.'),
    outcome: z
      .enum(['success', 'failed', 'timeout', 'canceled', 'lost'])
      .optional()
      .describe('What came of it. `lost`: its worker died. Absent while it goes on.'),
    cause: z.string().optional().meta({ description: 'What fired it: its trigger, or `run` for a run by hand.' }),
    actor: optional.describe('Who asked for it, where somebody did.'),
    reason: optional.describe('Why it was due, in words.'),
    started_at: dateTime.optional(),
    finished_at: dateTime.optional(),
    duration_ms: optional.describe('How long it took, in milliseconds, as text.'),
    exit_code: optional.describe('The status that its process ended with, as text.'),
    signal: optional,
    error: optional,
    output: z.string().optional().meta({ description: 'The end of the output; its last 2,000 characters.' }),
    wisp_root_id: optional.describe('The root bead of the run that it launched.'),
  }),
  'A firing of an order.',
);
export type OrderHistoryEntry = z.infer<typeof OrderHistoryEntry>;
export const OrderHistoryListBody = contract(
  'OrderHistoryListBody',
  z.strictObject({
    entries: z.array(OrderHistoryEntry).nullable().describe('The firings of this page, the newest first. Null is the same as none.'),
    next_cursor: z.string().optional(),
  }),
  'A page of firings.',
);
export type OrderHistoryListBody = z.infer<typeof OrderHistoryListBody>;
export const OrderHistoryQuery = z.strictObject({
  scoped_name: text.min(1).max(300).describe('The order: `<name>`, or `<name>:rig:<rig>` for that of a rig.'),
  limit: queryInt({ min: 0, max: 500, default: 20 }),
  before: instant.optional().describe('Only what began before this time. Escape a `+` in it.'),
  cursor: queryText(),
});
export type OrderHistoryQuery = z.infer<typeof OrderHistoryQuery>;

export const OrderHistoryDetailResponse = contract(
  'OrderHistoryDetailResponse',
  z.strictObject({
    bead_id: z.string().describe('The id of the firing.'),
    store_ref: z.string(),
    created_at: z.string(),
    labels: z.array(z.string()).nullable(),
    output: z.string().describe('The end of the output; empty without.'),
    entry: OrderHistoryEntry.optional().describe('The firing as the list tells it.'),
    vars: z.record(z.string(), z.string()).optional().describe('The values that it was given.'),
    event: z.record(z.string(), z.unknown()).optional().meta({ description: 'The event that fired it.' }),
  }),
  'A firing with its output.',
);
export type OrderHistoryDetailResponse = z.infer<typeof OrderHistoryDetailResponse>;
export const OrderHistoryDetailQuery = z.strictObject({ store_ref: queryText().describe('Has no effect: a firing is found by its id.') });
export type OrderHistoryDetailQuery = z.infer<typeof OrderHistoryDetailQuery>;

export const OrderRunInputBody = contract(
  'OrderRunInputBody',
  z.strictObject({
    vars: boundedMap(z.record(text.max(128), text.max(8192)), 100, 'must not have more than 100 members')
      .optional()
      .describe('Values for the formula, or variables of the command: at most a hundred.'),
    force: z
      .boolean()
      .optional()
      .meta({ description: 'Also while other firings of the order are open, up to 100, and while it is disabled.' }),
  }),
  'How an order is fired by hand.',
);
export type OrderRunInputBody = z.infer<typeof OrderRunInputBody>;
export const OrderRunOutputBody = contract(
  'OrderRunOutputBody',
  z.strictObject({
    status: z.string().describe('`dispatched`.'),
    scoped_name: optional,
    tracking_id: optional,
  }),
  'The order is fired.',
);
export type OrderRunOutputBody = z.infer<typeof OrderRunOutputBody>;

export const OrdersFeedBody = contract(
  'OrdersFeedBody',
  z.strictObject({
    items: z
      .array(MonitorFeedItemResponse)
      .nullable()
      .describe('What orders are doing: what runs before what waits, and of each the newest first. Null is the same as nothing.'),
    partial: z.boolean(),
    partial_errors: z.array(z.string()).nullable().optional(),
  }),
  'What orders are doing.',
);
export type OrdersFeedBody = z.infer<typeof OrdersFeedBody>;
export const OrdersFeedQuery = z.strictObject({
  scope_kind: demanded(queryText().describe('`city` or `rig`')),
  scope_ref: demanded(queryText().describe('The name of the city, or of the rig.')),
  limit: queryInt({ min: 0, max: 500, default: 50 }),
});
export type OrdersFeedQuery = z.infer<typeof OrdersFeedQuery>;

export const WebhookRule = contract(
  'WebhookRule',
  z.strictObject({
    order: z.string().meta({ description: 'As the rule names it.' }),
    scoped_name: z.string().optional().meta({ description: 'The order that it fires.' }),
    event: optional.describe('The kind of event that it is about. Absent: any.'),
    match: z.record(z.string(), z.string()).optional().describe('Values that the body has to have, by their paths.'),
    args: z.record(z.string(), z.string()).optional().describe('What the order is given, by name: paths in the body.'),
    errors: z.array(z.string()).optional().meta({ description: 'Why it fires nothing; told of the first 100 rules that do not.' }),
  }),
  'What of a webhook fires which order.',
);
export type WebhookRule = z.infer<typeof WebhookRule>;
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
    max_per_minute: int64.describe('How many deliveries it takes a minute.'),
    waiting: int64.meta({ description: 'Deliveries that wait until a firing that is open has ended.' }),
    rules: z.array(WebhookRule).nullable().describe('What fires which order. Null is the same as nothing.'),
    errors: z.array(z.string()).optional().meta({ description: 'Why nothing is received.' }),
  }),
  'Where other systems say that something happened.',
);
export type WebhookResponse = z.infer<typeof WebhookResponse>;
export const WebhookListBody = contract(
  'WebhookListBody',
  z.strictObject({
    webhooks: z.array(WebhookResponse).nullable().describe('The webhooks. Null is the same as none.'),
    errors: z.array(z.string()).optional().meta({ description: 'How many rules more fire nothing, where that is not told of each.' }),
  }),
  'The webhooks of a city.',
);
export type WebhookListBody = z.infer<typeof WebhookListBody>;
