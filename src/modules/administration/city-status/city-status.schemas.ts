import { z } from 'zod';
import { blockingRead, queryBool } from '../../../contract/query.js';
import { contract } from '../../../contract/registry.js';
import { int64 } from '../../../contract/scalars.js';
import { ConfigRejection } from '../../configuration/config/config.schemas.js';
import { SessionRest } from '../../../contract/sessions.schemas.js';

const StatusAgentCounts = contract(
  'StatusAgentCounts',
  z.strictObject({
    quarantined: int64.describe('How many are kept from starting because they failed again and again.'),
    running: int64.describe('How many run.'),
    suspended: int64.describe('How many are suspended.'),
    total: int64,
  }),
  'How many agents there are.',
);
const StatusRigCounts = contract(
  'StatusRigCounts',
  z.strictObject({ suspended: int64.describe('How many are suspended.'), total: int64 }),
  'How many rigs there are.',
);
const StatusWorkCounts = contract(
  'StatusWorkCounts',
  z.strictObject({
    in_progress: int64.describe('How many somebody is at.'),
    open: int64.describe('How many are open and nobody is at.'),
    ready: int64,
  }),
  'How many beads there are.',
);
const StatusMailCounts = contract(
  'StatusMailCounts',
  z.strictObject({ total: int64, unread: int64 }),
  'How many messages there are that are not archived.',
);
const StatusSessionCountsDetail = contract(
  'StatusSessionCountsDetail',
  z.strictObject({ active: int64.describe('How many have a process.'), suspended: int64.describe('How many are suspended.') }),
  'How many sessions there are.',
);

const StatusResting = contract(
  'StatusResting',
  z.strictObject({
    total: int64,
    items: z.array(SessionRest.extend({ session_id: z.string().optional(), name: z.string() })).describe('The first of them.'),
  }),
  'Sessions that are not started for now, the first of them, and pools and members of them (without `session_id`) that start nobody more. `name` is that of the pool or member, or under which a session works.',
);

const StatusWaiting = contract(
  'StatusWaiting',
  z.strictObject({ what: z.enum(['requests', 'operations', 'sessions']).describe('What waits.'), count: int64, reason: z.string() }),
  'What waits for its turn, and why: operations and sessions for a place at a worker, requests for one at the replica that answers.',
);

const StatusAgentDetail = contract(
  'StatusAgentDetail',
  z.strictObject({
    name: z.string(),
    qualified_name: z.string().describe('The name with the rig: `<rig>/<name>`.'),
    scope: z.string(),
    running: z.boolean(),
    suspended: z.boolean(),
    draining: z.boolean().optional().describe('True while it ends what it is at, and takes nothing more.'),
    expanded: z.boolean().optional().describe('True for a member of a pool.'),
    group_name: z.string().optional().describe('The pool that it is a member of.'),
    scale_label: z.string().optional().describe('How many the pool has, of how many it may have, for people.'),
    session_name: z.string().optional(),
  }),
  'An agent.',
);
const StatusRigDetail = contract(
  'StatusRigDetail',
  z.strictObject({ name: z.string(), path: z.string(), suspended: z.boolean() }),
  'A rig.',
);
const StatusNamedSessionDetail = contract(
  'StatusNamedSessionDetail',
  z.strictObject({
    identity: z.string().describe('The configured name.'),
    mode: z.string().describe('Whether it always runs, or when it is wanted.'),
    status: z.string().describe('The state of its session.'),
  }),
  'A configured session.',
);
const StatusStoreHealth = contract(
  'StatusStoreHealth',
  z.strictObject({
    path: z.string().describe('Which store it is.'),
    size_bytes: int64.describe('The size, in bytes.'),
    live_rows: int64.describe('How many rows there are.'),
    ratio_mb_per_row: z.number().describe('How many megabytes a row takes.'),
    threshold_mb_per_row: z.number().describe('How many megabytes a row may take.'),
    warning: z.boolean().describe('True when it takes more.'),
    last_gc_at: z.string().optional().describe('When maintenance ended last. RFC 3339 in UTC.'),
    last_gc_status: z.string().optional().describe('How maintenance ended last.'),
  }),
  'What the last cycle of maintenance has counted: a share of each table, by rows. Absent until one has, and without maintenance.',
);
const BeadsDiagnostic = contract(
  'BeadsDiagnostic',
  z.strictObject({
    beads_store: z.string().describe('The kind of store that has the beads.'),
    native_store_eligible: z.boolean().describe('Whether the service’s own store can be used. Always true.'),
    preflight_gate: z.string().optional().describe('The check that speaks against it.'),
    preflight_reason: z.string().optional().describe('What that check says.'),
  }),
  'The store of beads.',
);
const StatusRolloutNotice = contract(
  'StatusRolloutNotice',
  z.strictObject({
    kind: z.string(),
    flag_key: z.string().describe('The switch that it is about.'),
    message: z.string(),
    config_value: z.string().optional().describe('What the files say.'),
    env_value: z.string().optional().describe('What the environment says.'),
    env_var: z.string().optional().describe('The variable that says it.'),
  }),
  'What an operator should know of a switch.',
);
const StatusConditionalWriteStoreVerdict = contract(
  'StatusConditionalWriteStoreVerdict',
  z.strictObject({
    store_id: z.string().describe('The store.'),
    kind: z.string(),
    probe: z.enum(['capable', 'incapable', 'unprobed']).describe('What asking it has shown.'),
    latch: z.enum(['incapable', 'unlatched']).describe('Whether it was found to be unable once.'),
    capable: z.boolean().describe('Whether the store can do it.'),
    reason: z.string().optional(),
  }),
  'Whether a store can write on a condition.',
);
const StatusConditionalWrites = contract(
  'StatusConditionalWrites',
  z.strictObject({
    mode: z.enum(['off', 'auto', 'require']).describe('What is wanted.'),
    origin: z.enum(['builtin', 'config', 'env']).describe('Who wants it.'),
    effective: z.enum(['off', 'active', 'degraded', 'fail_closed', 'pending_restart']).describe('What counts in the end.'),
    notices: z.array(StatusRolloutNotice).nullable().optional().describe('What an operator should know. Null is the same as nothing.'),
    stores: z.array(StatusConditionalWriteStoreVerdict).nullable().optional().describe('The stores, one by one. Null is the same as none.'),
  }),
  'Whether stores write on a condition.',
);

export const StatusBody = contract(
  'StatusBody',
  z.strictObject({
    agent_count: int64,
    agents: StatusAgentCounts.describe('How many agents there are, and how many run.'),
    mail: StatusMailCounts,
    name: z.string().describe('The name of the city.'),
    path: z.string(),
    rig_count: int64,
    rigs: StatusRigCounts.describe('How many rigs there are, and how many are suspended.'),
    running: int64.describe('How many agents run.'),
    suspended: z.boolean(),
    uptime_sec: int64,
    work: StatusWorkCounts,
    partial: z.boolean().optional(),
    partial_errors: z.array(z.string()).nullable().optional(),
    session_counts_detail: StatusSessionCountsDetail.optional(),
    agent_details: z.array(StatusAgentDetail).nullable().optional().describe('The agents, one by one. Absent with `lite`.'),
    rig_details: z.array(StatusRigDetail).nullable().optional().describe('The rigs, one by one. Absent with `lite`.'),
    named_session_details: z
      .array(StatusNamedSessionDetail)
      .nullable()
      .optional()
      .describe('The configured sessions, one by one. Absent with `lite`.'),
    config_rejected: ConfigRejection.optional().describe(
      'Why the files as they are now are not what the city runs. Absent when they are, and with `lite`.',
    ),
    store_health: StatusStoreHealth.optional(),
    beads: BeadsDiagnostic.optional(),
    conditional_writes: StatusConditionalWrites.optional(),
    resting: StatusResting.optional(),
    waiting: z.array(StatusWaiting).optional().describe('What waits for its turn. Absent when nothing does.'),
    version: z.string().optional(),
  }),
  'How a city is.',
);
export type StatusBody = z.infer<typeof StatusBody>;

export const StatusQuery = z.strictObject({
  ...blockingRead,
  lite: queryBool().describe('Leaves out what is listed one by one.'),
});
export type StatusQuery = z.infer<typeof StatusQuery>;
