import { z } from 'zod';
import { listPage, blockingRead, queryBool } from '../../../contract/query.js';
import { contract } from '../../../contract/registry.js';
import { dateTime, int64, text } from '../../../contract/scalars.js';

export const RigNameParam = z.string().min(1).describe('The name of the rig.');
const RIG_ACTIONS = ['suspend', 'resume', 'restart', 'reset'] as const;
export const RigActionParam = z.enum(RIG_ACTIONS).describe('What is to be done with it.');
export type RigAction = z.infer<typeof RigActionParam>;

/** Long enough for every path and URL that can be used. */
const line = text.max(4_000);

export const RigCreateBody = contract(
  'RigCreateBody',
  z.strictObject({
    name: line.min(1).describe('The name of the rig, unique in the city.'),

    path: line
      .optional()
      .describe('Its directory: from that of the city, or absolute where the operator allows it; `rigs/<name>` unless given.'),

    prefix: line.optional().describe('Begins the ids of the rig’s beads; derived from the name unless given.'),
    default_branch: line.optional(),

    git_url: line.optional().describe('What to clone, at an https or ssh address. Absent: the rig is a plain directory.'),

    request_id: line.optional().describe('Identifies a request that clones; the same request again answers what became of it.'),
  }),
  'A new rig.',
);
export type RigCreateBody = z.infer<typeof RigCreateBody>;

export const RigCreateResponseBody = contract(
  'RigCreateResponseBody',
  z.strictObject({
    status: z.enum(['created', 'accepted', 'exists']).describe('`created` at once, `accepted` where a clone goes on, or `exists`.'),
    default_branch: z.string().optional(),
    event_cursor: z.string().optional().describe('The position of the city’s log before the change; with `accepted` only.'),
    prefix: z.string().optional(),
    request_id: z.string().optional(),
    rig: z.string().optional().describe('The name of the rig.'),
  }),
  'The rig is there, or is being made.',
);
export type RigCreateResponseBody = z.infer<typeof RigCreateResponseBody>;

export const RigUpdateInputBody = contract(
  'RigUpdateInputBody',
  z.strictObject({
    default_branch: line.optional(),
    path: line.optional(),
    prefix: line.optional(),

    suspended: z.boolean().optional().describe('What counts when nobody has suspended or resumed the rig: `suspended_on_start`.'),
  }),
  'What is to be another thing of a rig. Absent members stay as they are.',
);
export type RigUpdateInputBody = z.infer<typeof RigUpdateInputBody>;

export const GitStatus = contract(
  'GitStatus',
  z.strictObject({
    ahead: int64.describe('Commits that the branch has and its remote has not.'),
    behind: int64.describe('Commits that its remote has and the branch has not.'),
    branch: z.string().describe('The branch that is checked out.'),
    changed_files: int64.describe('Files that are changed and not committed.'),
    clean: z.boolean().describe('True when none is.'),
  }),
  'How a working tree is.',
);
export type GitStatus = z.infer<typeof GitStatus>;

export const RigResponse = contract(
  'RigResponse',
  z.strictObject({
    name: z.string(),
    path: z.string(),
    suspended: z.boolean(),

    suspended_declared: z.boolean().describe('What the files say.'),

    suspended_runtime: z.boolean().nullable().describe('What somebody has switched it to; null when the files count.'),
    agent_count: int64.describe('How many agents it has.'),
    running_count: int64.describe('How many of its agents run.'),
    default_branch: z.string().optional(),
    git: GitStatus.optional().describe('How its working tree is; only when asked for.'),
    last_activity: dateTime.optional(),
    prefix: z.string().optional(),
  }),
  'A rig: a directory or repository that a city works on.',
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
  'A page of rigs.',
);
export type ListBodyRigResponse = z.infer<typeof ListBodyRigResponse>;

export const RigActionBody = contract(
  'RigActionBody',
  z.strictObject({
    status: z.string().describe('Always `ok`.'),
    action: z.string().describe('What was done.'),
    rig: z.string().describe('The name of the rig.'),
    failed: z.array(z.string()).nullable().optional().describe('Sessions for which it did not work. Null is the same as none.'),
    killed: z.array(z.string()).nullable().optional().describe('Sessions whose processes were ended. Null is the same as none.'),
  }),
  'What was done to a rig.',
);
export type RigActionBody = z.infer<typeof RigActionBody>;

export const RigsQuery = z.strictObject({ ...blockingRead, ...listPage, git: queryBool() });
export type RigsQuery = z.infer<typeof RigsQuery>;
export const RigQuery = z.strictObject({ git: queryBool() });
export const RigDeleteQuery = z.strictObject({
  cascade: queryBool().describe('Also what else the files have of it: its agents, patches and overrides.'),
});
