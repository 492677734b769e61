import { z } from 'zod';
import { Bead } from '../beads.schemas.js';
import { contract } from '../registry.js';
import { defineEvent } from './define.js';

export const BeadEventPayload = contract('BeadEventPayload', z.strictObject({ bead: Bead }));
export const BeadClaimRejectedPayload = contract(
  'BeadClaimRejectedPayload',
  z.strictObject({ attempted_claimant: z.string(), bead_id: z.string(), existing_claimant: z.string() }),
);
export const BeadDeadAssigneeReopenedPayload = contract(
  'BeadDeadAssigneeReopenedPayload',
  z.strictObject({ bead_id: z.string(), dead_assignee: z.string().optional(), routed_to: z.string().optional() }),
);
export const BeadWorktreeReapedPayload = contract(
  'BeadWorktreeReapedPayload',
  z.strictObject({ bead_id: z.string(), branch: z.string(), path: z.string(), rig: z.string() }),
);
export const BeadWorktreeReapSkippedPayload = contract(
  'BeadWorktreeReapSkippedPayload',
  z.strictObject({ bead_id: z.string(), path: z.string(), reason: z.string(), rig: z.string() }),
);

export const BeadCreated = defineEvent('bead.created', 1, BeadEventPayload);
export const BeadUpdated = defineEvent('bead.updated', 1, BeadEventPayload);
export const BeadClosed = defineEvent('bead.closed', 1, BeadEventPayload);
export const BeadDeleted = defineEvent('bead.deleted', 1, BeadEventPayload);
export const BeadClaimRejected = defineEvent('bead.claim_rejected', 1, BeadClaimRejectedPayload);
export const BeadDeadAssigneeReopened = defineEvent('bead.dead_assignee_reopened', 1, BeadDeadAssigneeReopenedPayload);
export const BeadWorktreeReaped = defineEvent('bead.worktree.reaped', 1, BeadWorktreeReapedPayload);
export const BeadWorktreeReapSkipped = defineEvent('bead.worktree.reap_skipped', 1, BeadWorktreeReapSkippedPayload);
