import { z } from 'zod';
import { Bead } from '../../../contract/beads.schemas.js';
import { queryInt, queryList } from '../../../contract/query.js';
import { contract } from '../../../contract/registry.js';
import { dateTime, int64 } from '../../../contract/scalars.js';
import { Lease, Name, WorkBranch } from './claims.schemas.js';

const HookAction = z.enum(['work', 'drain']);
const MAX_NAMES = 100;

export const HookQuery = z.strictObject({
  agent: Name,
  session: queryList({ max: MAX_NAMES }).refine((names = []) => names.every((name) => Name.safeParse(name).success), 'must be names'),
  limit: queryInt({ min: 1, max: 1000, default: 100 }),
});

export const HookItem = contract('HookItem', z.strictObject({ bead: Bead, tier: z.enum(['in_progress', 'assigned', 'routed']) }));
export const HookResponse = contract(
  'HookResponse',
  z.strictObject({
    action: HookAction,
    /** The agent's canonical name, with its slot. */
    agent: z.string(),
    items: z.array(HookItem),
    reason: z.enum(['existing_assignment', 'ready_assignment', 'claimable', 'no_work']),
  }),
  'What is on the hook, in the order in which claims would take it; `reason` is about the first item.',
);

export const HookClaimInputBody = contract(
  'HookClaimInputBody',
  z.strictObject({
    /** An agent of the city, or a slot of its pool: `agent-7` of `agent`. */
    agent: Name,
    /** Further names under which work may be assigned to the caller. */
    aliases: z.array(Name).max(MAX_NAMES).optional(),
    lease: Lease.optional(),
    /** The id of the caller's session. */
    session: Name.optional(),
    session_name: Name.optional(),
    work_branch: WorkBranch.optional(),
  }),
  'Workers of one agent tell themselves apart by slot or by session; a slot also keeps the beads of a continuation group together.',
);
export const HookClaimResponse = contract(
  'HookClaimResponse',
  z.strictObject({
    action: HookAction,
    command: z.literal('hook'),
    ok: z.boolean(),
    reason: z.enum(['existing_assignment', 'ready_assignment', 'claimed', 'no_work']),
    schema_version: z.literal('1'),
    assignee: z.string().optional(),
    bead: Bead.optional(),
    bead_id: z.string().optional(),
    continuation_assigned: z.array(z.string()).optional(),
    continuation_group: z.string().optional(),
    fence: int64.optional(),
    lease: z.string().optional(),
    lease_until: dateTime.optional(),
    root_bead_id: z.string().optional(),
    route: z.string().optional(),
  }),
  "`work` with the bead that is now the caller's, or `drain` when there is none.",
);

export const HookDemandItem = contract('HookDemandItem', z.strictObject({ ready: int64, route: z.string() }));
export const HookDemandResponse = contract(
  'HookDemandResponse',
  z.strictObject({ items: z.array(HookDemandItem), total: int64, partial: z.boolean().optional() }),
  'Beads that wait for the workers of each route; `total` is their sum. `partial`: there are more routes than fit on a page of 2 MiB.',
);

export type HookQuery = z.infer<typeof HookQuery>;
export type HookClaimInputBody = z.infer<typeof HookClaimInputBody>;
export type HookClaimResponse = z.infer<typeof HookClaimResponse>;
export type HookDemandResponse = z.infer<typeof HookDemandResponse>;
