import { z } from 'zod';
import { listPage, blockingRead, queryBool } from '../../../contract/query.js';
import { contract } from '../../../contract/registry.js';
import { dateTime, int64, text } from '../../../contract/scalars.js';

export const RigNameParam = z.string().min(1);
export const RIG_ACTIONS = ['suspend', 'resume', 'restart', 'reset'] as const;
export const RigActionParam = z.enum(RIG_ACTIONS);
export type RigAction = z.infer<typeof RigActionParam>;

/** Long enough for every path and URL that can be used. */
const line = text.max(4_000);

export const RigCreateBody = contract(
  'RigCreateBody',
  z.strictObject({
    name: line.min(1),
    /** Relative to the city, or absolute inside the cities root; `rigs/<name>` unless given. */
    path: line.optional(),
    /** Begins the ids of the rig's beads; derived from the name unless given. */
    prefix: line.optional(),
    default_branch: line.optional(),
    /** What to clone; without it the rig is a plain directory. */
    git_url: line.optional(),
    /** Identifies a request that clones; the same request again answers what became of it. */
    request_id: line.optional(),
  }),
);
export type RigCreateBody = z.infer<typeof RigCreateBody>;

export const RigCreateResponseBody = contract(
  'RigCreateResponseBody',
  z.strictObject({
    status: z.enum(['created', 'accepted', 'exists']),
    default_branch: z.string().optional(),
    event_cursor: z.string().optional(),
    prefix: z.string().optional(),
    request_id: z.string().optional(),
    rig: z.string().optional(),
  }),
);
export type RigCreateResponseBody = z.infer<typeof RigCreateResponseBody>;

export const RigUpdateInputBody = contract(
  'RigUpdateInputBody',
  z.strictObject({
    default_branch: line.optional(),
    path: line.optional(),
    prefix: line.optional(),
    /** What counts when nobody has suspended or resumed the rig: `suspended_on_start`. */
    suspended: z.boolean().optional(),
  }),
);
export type RigUpdateInputBody = z.infer<typeof RigUpdateInputBody>;

export const GitStatus = contract(
  'GitStatus',
  z.strictObject({ ahead: int64, behind: int64, branch: z.string(), changed_files: int64, clean: z.boolean() }),
);
export type GitStatus = z.infer<typeof GitStatus>;

export const RigResponse = contract(
  'RigResponse',
  z.strictObject({
    name: z.string(),
    path: z.string(),
    suspended: z.boolean(),
    /** What the files say. */
    suspended_declared: z.boolean(),
    /** What somebody has switched it to; null when the files count. */
    suspended_runtime: z.boolean().nullable(),
    agent_count: int64,
    running_count: int64,
    default_branch: z.string().optional(),
    git: GitStatus.optional(),
    last_activity: dateTime.optional(),
    prefix: z.string().optional(),
  }),
);
export type RigResponse = z.infer<typeof RigResponse>;

export const ListBodyRigResponse = contract(
  'ListBodyRigResponse',
  z.strictObject({
    items: z.array(RigResponse),
    total: int64,
    next_cursor: z.string().optional(),
    partial: z.boolean().optional(),
    partial_errors: z.array(z.string()).nullable().optional(),
  }),
);
export type ListBodyRigResponse = z.infer<typeof ListBodyRigResponse>;

export const RigActionBody = contract(
  'RigActionBody',
  z.strictObject({
    status: z.string(),
    action: z.string(),
    rig: z.string(),
    failed: z.array(z.string()).nullable().optional(),
    killed: z.array(z.string()).nullable().optional(),
  }),
);
export type RigActionBody = z.infer<typeof RigActionBody>;

export const RigsQuery = z.strictObject({ ...blockingRead, ...listPage, git: queryBool() });
export type RigsQuery = z.infer<typeof RigsQuery>;
export const RigQuery = z.strictObject({ git: queryBool() });
export const RigDeleteQuery = z.strictObject({ cascade: queryBool() });
