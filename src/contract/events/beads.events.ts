import { z } from 'zod';
import { Bead } from '../beads.schemas.js';
import { contract } from '../registry.js';
import { int64 } from '../scalars.js';
import { defineEvent } from './define.js';

export const BeadEventPayload = contract('BeadEventPayload', z.strictObject({ bead: Bead }), 'The bead as it is after the change.');
export const BeadClaimRejectedPayload = contract(
  'BeadClaimRejectedPayload',
  z.strictObject({
    attempted_claimant: z.string().describe('Who wanted it.'),
    bead_id: z.string(),
    existing_claimant: z.string().describe('Who has it.'),
  }),
  'Somebody wanted a bead that another has.',
);
export const BeadDeadAssigneeReopenedPayload = contract(
  'BeadDeadAssigneeReopenedPayload',
  z.strictObject({
    bead_id: z.string(),
    dead_assignee: z.string().optional().describe('Who had it, and is no more.'),
    routed_to: z.string().optional().describe('The agent whose workers it waits for now.'),
  }),
  'A bead whose worker is no more waits again.',
);
export const BeadDependentsUpdatedPayload = contract(
  'BeadDependentsUpdatedPayload',
  z.strictObject({
    bead_id: z.string().describe('The bead that was closed, or opened again.'),
    status: z.string().describe('Its status, as its dependents know it now.'),
    told: int64.describe('How many edges to it were looked at.'),
    changed: int64.describe(
      'How many beads count it differently now; those that are blocked now, or no longer, have a `bead.updated` each.',
    ),
  }),
  'The end of a fan-out.',
);
export const BeadWorktreeReapedPayload = contract(
  'BeadWorktreeReapedPayload',
  z.strictObject({
    bead_id: z.string(),
    branch: z.string().describe('The branch that was checked out there.'),
    path: z.string().describe('The worktree that was taken away.'),
    rig: z.string(),
  }),
  'The worktree of a closed bead was taken away.',
);
export const BeadWorktreeReapSkippedPayload = contract(
  'BeadWorktreeReapSkippedPayload',
  z.strictObject({ bead_id: z.string(), path: z.string().describe('The worktree that stays.'), reason: z.string(), rig: z.string() }),
  'The worktree of a closed bead stays.',
);

export const BeadCreated = defineEvent('bead.created', 1, BeadEventPayload, 'A bead was made.');
export const BeadUpdated = defineEvent(
  'bead.updated',
  1,
  BeadEventPayload,
  'A bead has changed, also in what follows from others: `is_blocked`, its holder, its lease.',
);
export const BeadClosed = defineEvent('bead.closed', 1, BeadEventPayload, 'A bead was closed.');
export const BeadDeleted = defineEvent('bead.deleted', 1, BeadEventPayload, 'A bead was deleted.');
export const BeadClaimRejected = defineEvent(
  'bead.claim_rejected',
  1,
  BeadClaimRejectedPayload,
  'Somebody wanted a bead that another one holds.',
);
export const BeadDeadAssigneeReopened = defineEvent(
  'bead.dead_assignee_reopened',
  1,
  BeadDeadAssigneeReopenedPayload,
  'Whoever held a bead has died or has let its lease run out: the bead is free again.',
);
export const BeadDependentsUpdated = defineEvent(
  'bead.dependents_updated',
  1,
  BeadDependentsUpdatedPayload,
  'All that depend on a bead know that it is closed, or open again. Only where they were too many for the transaction of the change itself.',
);
export const BeadWorktreeReaped = defineEvent(
  'bead.worktree.reaped',
  1,
  BeadWorktreeReapedPayload,
  'The working copy of a closed bead was removed. Known for clients; nothing here emits it.',
);
export const BeadWorktreeReapSkipped = defineEvent(
  'bead.worktree.reap_skipped',
  1,
  BeadWorktreeReapSkippedPayload,
  'The working copy of a closed bead was left. Known for clients; nothing here emits it.',
);
