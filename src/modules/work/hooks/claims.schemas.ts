import { z } from 'zod';
import { Bead } from '../../../contract/beads.schemas.js';
import { parseDuration } from '../../../contract/duration.js';
import { contract } from '../../../contract/registry.js';
import { dateTime, int64, text } from '../../../contract/scalars.js';

const MIN_LEASE_MS = 1_000;
const MAX_LEASE_MS = 24 * 3_600_000;

export const BeadIdParam = text.min(1).max(255).describe('The id of the bead.');
/** An agent, a session or another name of a claimant. */
export const Name = text.min(1).max(255).regex(/\S/, 'must not be blank');
export const WorkBranch = text.min(1).max(1024);
/** How long a claim holds without a heartbeat. */
export const Lease = z.string().refine((value) => {
  const ms = parseDuration(value);
  return ms !== undefined && ms >= MIN_LEASE_MS && ms <= MAX_LEASE_MS;
}, 'must be a duration from 1s to 24h such as 10m');

export const BeadClaimInputBody = contract(
  'BeadClaimInputBody',
  z.strictObject({
    assignee: Name.describe('Who claims: an agent, a slot of its pool, or another name.'),

    force: z.boolean().optional().describe('Take it although it is blocked, deferred or of a kind that is not work.'),
    lease: Lease.optional().describe(
      'For how long the claim holds without a heartbeat: a duration from `1s` to `24h`, `10m` unless given.',
    ),
    session_id: Name.optional().describe('The session that does the work; noted on the bead.'),
    session_name: Name.optional().describe('The name of that session; noted on the bead.'),
    work_branch: WorkBranch.optional(),
  }),
  'Who claims, for how long (10m unless said), and what is noted on the bead. Sessions of one agent keep out of what another of them holds under a live lease.',
);
export const BeadClaimResponse = contract(
  'BeadClaimResponse',
  z.strictObject({
    bead: Bead,

    claimed: z.boolean().describe('False when it was the claimant’s already; its lease has begun anew.'),
    fence: int64,
    lease: z.string(),
    lease_until: dateTime,
  }),
  '`fence` proves the claim in heartbeats and releases: it rises whenever the bead changes hands.',
);

export const BeadReleaseInputBody = contract(
  'BeadReleaseInputBody',
  z.strictObject({
    assignee: Name.describe('Who has it.'),
    fence: int64.min(0).optional().describe('That of the claim. Absent: whichever claim of `assignee` it is.'),
    reason: text.max(1000).optional().describe('Why it is given back. Kept on the bead as `release_reason`.'),
  }),
  'A bead is given back.',
);

export const BeadHeartbeatInputBody = contract(
  'BeadHeartbeatInputBody',
  z.strictObject({ assignee: Name.describe('Who has it.'), fence: int64.min(0) }),
  'A sign of life of who has a bead.',
);
export const BeadHeartbeatResponse = contract(
  'BeadHeartbeatResponse',
  z.strictObject({ fence: int64, lease_until: dateTime }),
  'The lease goes on.',
);

export type BeadClaimInputBody = z.infer<typeof BeadClaimInputBody>;
export type BeadClaimResponse = z.infer<typeof BeadClaimResponse>;
export type BeadReleaseInputBody = z.infer<typeof BeadReleaseInputBody>;
export type BeadHeartbeatInputBody = z.infer<typeof BeadHeartbeatInputBody>;
export type BeadHeartbeatResponse = z.infer<typeof BeadHeartbeatResponse>;
