import { z } from 'zod';
import { parseDuration } from '../../../contract/duration.js';
import { listPage, blockingRead, queryBool, queryEnum, queryText } from '../../../contract/query.js';
import { contract } from '../../../contract/registry.js';
import { dateTime, int64, text } from '../../../contract/scalars.js';
import { SessionRest, SessionStart } from '../../../contract/sessions.schemas.js';

/** The live session of an agent. */
export const SessionInfo = contract(
  'SessionInfo',
  z.strictObject({ name: z.string().describe('The session’s name.'), attached: z.boolean(), last_activity: dateTime.optional() }),
  'The live session of an agent.',
);
/** `session_id` is absent for a place of a pool that nobody has yet: it rests with the others. */
export const AgentRest = contract(
  'AgentRest',
  SessionRest.extend({ session_id: z.string().optional() }),
  'Why no process of an agent is started although one may be wanted. `session_id` is absent for a place of a pool that nobody has yet.',
);
export type AgentRest = z.infer<typeof AgentRest>;
export const AgentResponse = contract(
  'AgentResponse',
  z.strictObject({
    name: z.string().describe('The qualified name: `<name>`, or `<rig>/<name>`; members of a pool end in `-<slot>`.'),
    running: z.boolean().describe('Whether one of its sessions has a process.'),
    suspended: z.boolean(),
    pack_derived: z.boolean().describe('True when it comes from a pack: the files of the city cannot change it, but a patch can.'),
    state: z
      .string()
      .describe(
        '`stopped`, `idle`, `working`, `waiting` (for an answer, or with work that it does not go on with), `suspended` or `quarantined`.',
      ),
    available: z.boolean(),
    suspended_declared: z.boolean().optional(),
    suspended_runtime: z.boolean().nullable().optional(),
    unavailable_reason: z.string().optional().describe('Why it cannot be used. Absent when it can.'),
    description: z.string().optional(),
    display_name: z.string().optional().describe('The name of its provider for people.'),
    provider: z.string().optional(),
    rig: z.string().optional(),
    pool: z.string().optional(),
    pack: z.string().optional(),
    active_bead: z.string().optional(),
    activity: z.string().optional(),
    model: z.string().optional(),
    context_pct: int64.optional(),
    context_window: int64.optional(),
    last_output: z.string().optional(),
    session: SessionInfo.optional().describe('Its live session. Absent when none is.'),
    rest: AgentRest.optional(),
    starting: SessionStart.optional(),
  }),
  '`suspended` is the switch set at run time (`suspended_runtime`, null when there is none), else what the files say (`suspended_declared`). ' +
    '`display_name` is that of the provider. `pool` names the agent that a member belongs to. ' +
    '`rest` is there while none of its processes is started although one may be wanted, `starting` while one is.',
);
export type AgentResponse = z.infer<typeof AgentResponse>;
export const ListBodyAgentResponse = contract(
  'ListBodyAgentResponse',
  z.strictObject({
    items: z.array(AgentResponse).nullable(),
    total: int64,
    next_cursor: z.string().optional(),
    partial: z.boolean().optional(),
    partial_errors: z.array(z.string()).nullable().optional(),
  }),
  'A page of agents.',
);
export type ListBodyAgentResponse = z.infer<typeof ListBodyAgentResponse>;
export const AgentsQuery = z.strictObject({
  pool: queryText({ max: 512 }).describe('Only members of this pool, by its qualified name.'),
  rig: queryText({ max: 256 }),
  running: queryEnum(['true', 'false']).describe('Only what runs, or only what does not.'),
  peek: queryBool().describe('Adds the last output of running sessions.'),
  ...listPage,
  ...blockingRead,
  wait: blockingRead.wait.describe(
    'How long to wait at the most: a duration, `30s` unless given, up to `2m`. Then the answer comes as things are.',
  ),
});
export type AgentsQuery = z.infer<typeof AgentsQuery>;

const MAX_PROMPT_BYTES = 256 * 1024;
const word = text.max(128);
const description = text.max(4_096);
const prompt = text.refine((value) => Buffer.byteLength(value) <= MAX_PROMPT_BYTES, 'must not be longer than 256 KiB');

export const AgentCreateInputBody = contract(
  'AgentCreateInputBody',
  z.strictObject({
    name: z
      .string()
      .min(1)
      .max(128)
      .regex(/^[a-zA-Z0-9][a-zA-Z0-9_-]*$/)
      .describe('The name without its rig: letters, digits, `_` and `-`.'),
    provider: word.min(1).optional(),
    dir: text.max(256).optional().describe('The rig that the agent is for. Absent: the city.'),
    scope: word.optional().describe('`city` or `rig`. Absent: as `dir` says.'),
    description: description.optional(),
    prompt: prompt.optional().describe('What becomes its prompt file. 256 KiB at the most.'),
  }),
  '`prompt` becomes the agent’s prompt file; a general one is written without it. `provider` may be absent only in a city whose agents are ' +
    'started with a command (`workspace.start_command`).',
);
export type AgentCreateInputBody = z.infer<typeof AgentCreateInputBody>;
export const AgentCreatedOutputBody = contract(
  'AgentCreatedOutputBody',
  z.strictObject({ status: z.string().describe('Always `created`.'), agent: z.string() }),
  'The agent is in the files.',
);
export type AgentCreatedOutputBody = z.infer<typeof AgentCreatedOutputBody>;

const changes = {
  provider: word.optional(),
  scope: word.optional(),
  suspended: z.boolean().optional(),
  description: description.nullable().optional(),
  max_active_sessions: int64.min(-1).max(1_000_000).nullable().optional(),
  min_active_sessions: int64.min(0).max(1_000_000).nullable().optional(),
  idle_timeout: z
    .string()
    .max(64)
    .refine((value) => value === '' || (parseDuration(value) ?? -1) >= 0, 'must be a duration such as 45m')
    .nullable()
    .optional(),
};
export const AgentUpdateInputBody = contract(
  'AgentUpdateInputBody',
  z.strictObject(changes),
  'Absent members and empty texts stay as they are; null takes a key out of the file.',
);
export type AgentUpdateInputBody = z.infer<typeof AgentUpdateInputBody>;
/** The same for agents that are addressed with their rig. */
export const AgentUpdateQualifiedInputBody = contract(
  'AgentUpdateQualifiedInputBody',
  z.strictObject(changes),
  'Absent members and empty texts stay as they are; null takes a key out of the file.',
);
export type AgentUpdateQualifiedInputBody = z.infer<typeof AgentUpdateQualifiedInputBody>;

/** `patch`: an agent that the city's own files do not define is changed by a patch, in place of a refusal. */
export const AgentUpdateQuery = z.strictObject({ patch: queryBool() });
export type AgentUpdateQuery = z.infer<typeof AgentUpdateQuery>;

const AGENT_ACTIONS = ['suspend', 'resume', 'reset'] as const;
export type AgentAction = (typeof AGENT_ACTIONS)[number];
export const AgentActionParam = z.enum(AGENT_ACTIONS).describe('What is to be done with it.');
export const AgentNameParam = z.string().min(1).max(512).describe('The name of the agent, without its rig.');
export const AgentDirParam = z.string().min(1).max(256).describe('The name of the rig.');
