import { z } from 'zod';
import { Bead } from '../../../contract/beads.schemas.js';
import { queryInt, queryList } from '../../../contract/query.js';
import { contract } from '../../../contract/registry.js';
import { dateTime, int64 } from '../../../contract/scalars.js';
import { Lease, Name, WorkBranch } from './claims.schemas.js';

const HookAction = z.enum(['work', 'drain']);
const MAX_NAMES = 100;

export const HookQuery = z.strictObject({
  agent: Name.describe('The agent, or a slot of its pool: `agent-7` of `agent`.'),
  session: queryList({ max: MAX_NAMES })
    .refine((names = []) => names.every((name) => Name.safeParse(name).success), 'must be names')
    .describe('The caller’s session and its other names, by commas: work may be assigned to them, too.'),
  limit: queryInt({ min: 1, max: 1000, default: 100 }),
});

export const HookItem = contract(
  'HookItem',
  z.strictObject({
    bead: Bead,
    tier: z
      .enum(['in_progress', 'assigned', 'routed'])
      .describe('Why it is on the hook: the caller is at it, it is assigned to him, or it waits for any worker of the agent.'),
  }),
  'A bead on the hook.',
);
export const HookResponse = contract(
  'HookResponse',
  z.strictObject({
    action: HookAction.describe('`work` when there is something on the hook, otherwise `drain`.'),

    agent: z.string().describe('The canonical name of the agent, with its slot.'),
    items: z.array(HookItem).describe('What is on the hook, what a claim takes first at the front.'),
    reason: z
      .enum(['existing_assignment', 'ready_assignment', 'claimable', 'no_work'])
      .describe('How the first item would come to the caller, or that there is none.'),
  }),
  'What is on the hook, in the order in which claims would take it; `reason` is about the first item.',
);

export const HookClaimInputBody = contract(
  'HookClaimInputBody',
  z.strictObject({
    agent: Name.describe('An agent of the city, or a slot of its pool: `agent-7` of `agent`.'),

    aliases: z.array(Name).max(MAX_NAMES).optional().describe('Further names under which work may be assigned to the caller.'),
    lease: Lease.optional().describe(
      'For how long the claim holds without a heartbeat: a duration from `1s` to `24h`, `10m` unless given.',
    ),

    session: Name.optional().describe('The id of the caller’s session.'),
    session_name: Name.optional(),
    work_branch: WorkBranch.optional(),
  }),
  'Workers of one agent tell themselves apart by slot or by session; a slot also keeps the beads of a continuation group together.',
);
export const HookClaimResponse = contract(
  'HookClaimResponse',
  z.strictObject({
    action: HookAction.describe('`work`: do the bead. `drain`: there is nothing to do; end.'),
    command: z.literal('hook').describe('Always `hook`.'),
    ok: z.boolean().describe('Always true.'),
    reason: z
      .enum(['existing_assignment', 'ready_assignment', 'claimed', 'no_work'])
      .describe('How the bead came to the caller, or that there is none.'),
    schema_version: z.literal('1').describe('Always `1`.'),
    assignee: z.string().optional(),
    bead: Bead.optional(),
    bead_id: z.string().optional().describe('The id of the bead that is now the caller’s.'),
    continuation_assigned: z.array(z.string()).optional().describe('Further beads of the group that are the caller’s now.'),
    continuation_group: z.string().optional().describe('The group whose beads stay with one slot.'),
    fence: int64.optional(),
    lease: z.string().optional(),
    lease_until: dateTime.optional(),
    root_bead_id: z.string().optional(),
    route: z.string().optional(),
  }),
  "`work` with the bead that is now the caller's, or `drain` when there is none.",
);

export const HookDemandItem = contract(
  'HookDemandItem',
  z.strictObject({ ready: int64.describe('How many beads wait there.'), route: z.string() }),
  'What waits for the workers of one agent.',
);
export const HookDemandResponse = contract(
  'HookDemandResponse',
  z.strictObject({
    items: z.array(HookDemandItem),
    total: int64.describe('How many beads wait, over all routes.'),
    partial: z.boolean().optional().describe('True when there are more routes than fit on a page of 2 MiB.'),
  }),
  'Beads that wait for the workers of each route; `total` is their sum. `partial`: there are more routes than fit on a page of 2 MiB.',
);

export type HookQuery = z.infer<typeof HookQuery>;
export type HookClaimInputBody = z.infer<typeof HookClaimInputBody>;
export type HookClaimResponse = z.infer<typeof HookClaimResponse>;
export type HookDemandResponse = z.infer<typeof HookDemandResponse>;
