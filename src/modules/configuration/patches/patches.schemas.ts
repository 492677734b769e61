import { z } from 'zod';
import { boundedMap } from '../../../contract/bounded-map.js';
import { contract, demanded } from '../../../contract/registry.js';
import { int64, text } from '../../../contract/scalars.js';
import { AGENT_MEMBERS, PROVIDER_MEMBERS, RIG_MEMBERS, type Members } from './patch-members.js';

const KINDS = {
  text: z.string().nullable(),
  flag: z.boolean().nullable(),
  count: int64.nullable(),
  list: z.array(z.string()).nullable(),
  map: z.record(z.string(), z.string()),
};

type Shape<M extends Members> = { [K in keyof M]: (typeof KINDS)[M[K][1]] };

function shapeOf<M extends Members>(members: M): Shape<M> {
  const described = Object.entries(members).map(([name, [key, kind]]) => [name, KINDS[kind].describe(`What it sets for \`${key}\`.`)]);
  return Object.fromEntries(described) as Shape<M>;
}

const Other = z.record(z.string(), z.unknown());
const STORED =
  'A stored patch. Members that it does not set are null, maps are empty; `Other` has what it sets beyond the rest, under the names of the files. Values of environment entries and secrets on command lines are masked.';

export const PoolOverride = contract(
  'PoolOverride',
  z.strictObject({
    Min: int64.nullable().describe('How many there are at the least.'),
    Max: int64.nullable().describe('How many there are at the most.'),
    Check: z.string().nullable().describe('The command that says how many are wanted.'),
    DrainTimeout: z.string().nullable().describe('How long one that goes is given for what it is at: a duration.'),
    OnDeath: z.string().nullable().describe('The command that runs when one has died.'),
    OnBoot: z.string().nullable().describe('The command that runs when one begins.'),
  }),
  'What a patch sets for the pool. Null members are not set.',
);
export const AgentPatch = contract(
  'AgentPatch',
  z.strictObject({
    Dir: z.string().describe('The rig of the agent. Empty for an agent of the city.'),
    Name: z.string(),
    Pool: PoolOverride,
    ...shapeOf(AGENT_MEMBERS),
    Other,
  }),
  STORED,
);
export type AgentPatch = z.infer<typeof AgentPatch>;
export const RigPatch = contract('RigPatch', z.strictObject({ Name: z.string(), ...shapeOf(RIG_MEMBERS), Other }), STORED);
export type RigPatch = z.infer<typeof RigPatch>;
export const ProviderPatch = contract(
  'ProviderPatch',
  z.strictObject({
    Name: z.string(),
    Replace: z.boolean().describe('True: the patch is all there is, instead of what it patches.'),
    ...shapeOf(PROVIDER_MEMBERS),
    Other,
  }),
  STORED,
);
export type ProviderPatch = z.infer<typeof ProviderPatch>;

const listed = {
  total: int64,
  next_cursor: z.string().optional(),
  partial: z.boolean().optional(),
  partial_errors: z.array(z.string()).nullable().optional(),
};
export const ListBodyAgentPatch = contract(
  'ListBodyAgentPatch',
  z.strictObject({ items: z.array(AgentPatch), ...listed }),
  'A page of patches of agents.',
);
export type ListBodyAgentPatch = z.infer<typeof ListBodyAgentPatch>;
export const ListBodyRigPatch = contract(
  'ListBodyRigPatch',
  z.strictObject({ items: z.array(RigPatch), ...listed }),
  'A page of patches of rigs.',
);
export type ListBodyRigPatch = z.infer<typeof ListBodyRigPatch>;
export const ListBodyProviderPatch = contract(
  'ListBodyProviderPatch',
  z.strictObject({ items: z.array(ProviderPatch), ...listed }),
  'A page of patches of providers.',
);
export type ListBodyProviderPatch = z.infer<typeof ListBodyProviderPatch>;

const MAX_LIST = 500;
const line = text.max(8_192).nullable().optional();
const lines = z.array(text.max(8_192)).max(MAX_LIST).nullable().optional();
const flag = z.boolean().nullable().optional();
const env = boundedMap(z.record(text.max(256), text.max(8_192)), MAX_LIST, `must have at most ${MAX_LIST} entries`)
  .refine((map) => !Object.hasOwn(map, '__proto__'), 'has a key that cannot be stored')
  .nullable()
  .optional();
/** Whether it is there is for the service to say. */
const name = text.max(256).optional();

export const AgentPatchSetInputBody = contract(
  'AgentPatchSetInputBody',
  z.strictObject({
    dir: text.max(256).optional().describe('The rig of the agent. Absent or empty for an agent of the city.'),
    name: demanded(name.describe('The agent, without its rig.')),
    provider: line,
    work_dir: line,
    tmux_alias: line.describe('Kept for files of older cities. Nothing reads it here.'),
    scope: line,
    suspended: flag,
    env,
  }),
  'What a patch of an agent sets. Null and absent members are not set.',
);
export type AgentPatchSetInputBody = z.infer<typeof AgentPatchSetInputBody>;
export const RigPatchSetInputBody = contract(
  'RigPatchSetInputBody',
  z.strictObject({
    name: demanded(name.describe('The rig.')),
    path: line,
    prefix: line,
    default_branch: line,
    suspended: flag,
  }),
  'What a patch of a rig sets. Null and absent members are not set.',
);
export type RigPatchSetInputBody = z.infer<typeof RigPatchSetInputBody>;
export const ProviderPatchSetInputBody = contract(
  'ProviderPatchSetInputBody',
  z.strictObject({
    name: demanded(name.describe('The provider.')),
    command: line,
    acp_command: line,
    args: lines,
    acp_args: lines,
    prompt_mode: line,
    prompt_flag: line,
    ready_delay_ms: int64.min(0).max(3_600_000).nullable().optional(),
    accept_startup_dialogs: flag.describe(
      'Whether questions that the program asks when it starts are answered with yes. Null: the patch does not set it.',
    ),
    env,
  }),
  'What a patch of a provider sets. Null and absent members are not set.',
);
export type ProviderPatchSetInputBody = z.infer<typeof ProviderPatchSetInputBody>;

const done = (status: string) => ({
  status: z.string().describe(`Always \`${status}\`.`),
  agent_patch: z.string().optional(),
  provider_patch: z.string().optional(),
  rig_patch: z.string().optional(),
});
export const PatchOKResponseBody = contract('PatchOKResponseBody', z.strictObject(done('ok')), 'The patch is stored.');
export type PatchOKResponseBody = z.infer<typeof PatchOKResponseBody>;
export const PatchDeletedResponseBody = contract('PatchDeletedResponseBody', z.strictObject(done('deleted')), 'The patch is gone.');
export type PatchDeletedResponseBody = z.infer<typeof PatchDeletedResponseBody>;

export const PatchNameParam = text.min(1).max(256).describe('The name of what is patched.');
