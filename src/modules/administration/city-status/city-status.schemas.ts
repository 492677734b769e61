import { z } from 'zod';
import { blockingRead, queryBool } from '../../../contract/query.js';
import { contract } from '../../../contract/registry.js';
import { int64 } from '../../../contract/scalars.js';
import { SessionRest } from '../../../contract/sessions.schemas.js';

const StatusAgentCounts = contract(
  'StatusAgentCounts',
  z.strictObject({ quarantined: int64, running: int64, suspended: int64, total: int64 }),
);
const StatusRigCounts = contract('StatusRigCounts', z.strictObject({ suspended: int64, total: int64 }));
const StatusWorkCounts = contract('StatusWorkCounts', z.strictObject({ in_progress: int64, open: int64, ready: int64 }));
const StatusMailCounts = contract('StatusMailCounts', z.strictObject({ total: int64, unread: int64 }));
const StatusSessionCountsDetail = contract('StatusSessionCountsDetail', z.strictObject({ active: int64, suspended: int64 }));

const StatusResting = contract(
  'StatusResting',
  z.strictObject({
    total: int64,
    items: z.array(SessionRest.extend({ session_id: z.string().optional(), name: z.string() })),
  }),
  'Sessions that are not started for now, the first of them, and pools (without `session_id`) that start nobody more. `name` is that of the pool, or under which a session works.',
);

const StatusWaiting = contract(
  'StatusWaiting',
  z.strictObject({ what: z.enum(['requests', 'operations', 'sessions']), count: int64, reason: z.string() }),
  'What waits for its turn, and why: operations and sessions for a place at a worker, requests for one at the replica that answers.',
);

const StatusAgentDetail = contract(
  'StatusAgentDetail',
  z.strictObject({
    name: z.string(),
    qualified_name: z.string(),
    scope: z.string(),
    running: z.boolean(),
    suspended: z.boolean(),
    draining: z.boolean().optional(),
    expanded: z.boolean().optional(),
    group_name: z.string().optional(),
    scale_label: z.string().optional(),
    session_name: z.string().optional(),
  }),
);
const StatusRigDetail = contract('StatusRigDetail', z.strictObject({ name: z.string(), path: z.string(), suspended: z.boolean() }));
const StatusNamedSessionDetail = contract(
  'StatusNamedSessionDetail',
  z.strictObject({ identity: z.string(), mode: z.string(), status: z.string() }),
);
const StatusStoreHealth = contract(
  'StatusStoreHealth',
  z.strictObject({
    path: z.string(),
    size_bytes: int64,
    live_rows: int64,
    ratio_mb_per_row: z.number(),
    threshold_mb_per_row: z.number(),
    warning: z.boolean(),
    last_gc_at: z.string().optional(),
    last_gc_status: z.string().optional(),
  }),
  'What the last cycle of maintenance has counted: a share of each table, by rows. Absent until one has, and without maintenance.',
);
const BeadsDiagnostic = contract(
  'BeadsDiagnostic',
  z.strictObject({
    beads_store: z.string(),
    native_store_eligible: z.boolean(),
    preflight_gate: z.string().optional(),
    preflight_reason: z.string().optional(),
  }),
);
const StatusRolloutNotice = contract(
  'StatusRolloutNotice',
  z.strictObject({
    kind: z.string(),
    flag_key: z.string(),
    message: z.string(),
    config_value: z.string().optional(),
    env_value: z.string().optional(),
    env_var: z.string().optional(),
  }),
);
const StatusConditionalWriteStoreVerdict = contract(
  'StatusConditionalWriteStoreVerdict',
  z.strictObject({
    store_id: z.string(),
    kind: z.string(),
    probe: z.enum(['capable', 'incapable', 'unprobed']),
    latch: z.enum(['incapable', 'unlatched']),
    capable: z.boolean(),
    reason: z.string().optional(),
  }),
);
const StatusConditionalWrites = contract(
  'StatusConditionalWrites',
  z.strictObject({
    mode: z.enum(['off', 'auto', 'require']),
    origin: z.enum(['builtin', 'config', 'env']),
    effective: z.enum(['off', 'active', 'degraded', 'fail_closed', 'pending_restart']),
    notices: z.array(StatusRolloutNotice).nullable().optional(),
    stores: z.array(StatusConditionalWriteStoreVerdict).nullable().optional(),
  }),
);

export const StatusBody = contract(
  'StatusBody',
  z.strictObject({
    agent_count: int64,
    agents: StatusAgentCounts,
    mail: StatusMailCounts,
    name: z.string(),
    path: z.string(),
    rig_count: int64,
    rigs: StatusRigCounts,
    running: int64,
    suspended: z.boolean(),
    uptime_sec: int64,
    work: StatusWorkCounts,
    partial: z.boolean().optional(),
    partial_errors: z.array(z.string()).nullable().optional(),
    session_counts_detail: StatusSessionCountsDetail.optional(),
    agent_details: z.array(StatusAgentDetail).nullable().optional(),
    rig_details: z.array(StatusRigDetail).nullable().optional(),
    named_session_details: z.array(StatusNamedSessionDetail).nullable().optional(),
    store_health: StatusStoreHealth.optional(),
    beads: BeadsDiagnostic.optional(),
    conditional_writes: StatusConditionalWrites.optional(),
    resting: StatusResting.optional(),
    waiting: z.array(StatusWaiting).optional(),
    version: z.string().optional(),
  }),
);
export type StatusBody = z.infer<typeof StatusBody>;

export const StatusQuery = z.strictObject({
  ...blockingRead,
  lite: queryBool(),
});
export type StatusQuery = z.infer<typeof StatusQuery>;
