import { z } from 'zod';
import { contract } from '../../../contract/registry.js';
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
  return Object.fromEntries(Object.entries(members).map(([name, [, kind]]) => [name, KINDS[kind]])) as Shape<M>;
}

const Other = z.record(z.string(), z.unknown());
const STORED =
  'A stored patch. Members that it does not set are null, maps are empty; `Other` has what it sets beyond the rest, under the names of the files. Values of environment entries and secrets on command lines are masked.';

export const PoolOverride = contract(
  'PoolOverride',
  z.strictObject({
    Min: int64.nullable(),
    Max: int64.nullable(),
    Check: z.string().nullable(),
    DrainTimeout: z.string().nullable(),
    OnDeath: z.string().nullable(),
    OnBoot: z.string().nullable(),
  }),
);
export const AgentPatch = contract(
  'AgentPatch',
  z.strictObject({ Dir: z.string(), Name: z.string(), Pool: PoolOverride, ...shapeOf(AGENT_MEMBERS), Other }),
  STORED,
);
export type AgentPatch = z.infer<typeof AgentPatch>;
export const RigPatch = contract('RigPatch', z.strictObject({ Name: z.string(), ...shapeOf(RIG_MEMBERS), Other }), STORED);
export type RigPatch = z.infer<typeof RigPatch>;
export const ProviderPatch = contract(
  'ProviderPatch',
  z.strictObject({ Name: z.string(), Replace: z.boolean(), ...shapeOf(PROVIDER_MEMBERS), Other }),
  STORED,
);
export type ProviderPatch = z.infer<typeof ProviderPatch>;

const listed = {
  total: int64,
  next_cursor: z.string().optional(),
  partial: z.boolean().optional(),
  partial_errors: z.array(z.string()).nullable().optional(),
};
export const ListBodyAgentPatch = contract('ListBodyAgentPatch', z.strictObject({ items: z.array(AgentPatch), ...listed }));
export type ListBodyAgentPatch = z.infer<typeof ListBodyAgentPatch>;
export const ListBodyRigPatch = contract('ListBodyRigPatch', z.strictObject({ items: z.array(RigPatch), ...listed }));
export type ListBodyRigPatch = z.infer<typeof ListBodyRigPatch>;
export const ListBodyProviderPatch = contract('ListBodyProviderPatch', z.strictObject({ items: z.array(ProviderPatch), ...listed }));
export type ListBodyProviderPatch = z.infer<typeof ListBodyProviderPatch>;

const MAX_LIST = 500;
const line = text.max(8_192).nullable().optional();
const lines = z.array(text.max(8_192)).max(MAX_LIST).nullable().optional();
const flag = z.boolean().nullable().optional();
const env = z
  .record(text.max(256), text.max(8_192))
  .refine((map) => Object.keys(map).length <= MAX_LIST, `must have at most ${MAX_LIST} entries`)
  .refine((map) => !Object.hasOwn(map, '__proto__'), 'has a key that cannot be stored')
  .nullable()
  .optional();
/** Whether it is there is for the service to say. */
const name = text.max(256).optional();

export const AgentPatchSetInputBody = contract(
  'AgentPatchSetInputBody',
  z.strictObject({
    dir: text.max(256).optional(),
    name,
    provider: line,
    work_dir: line,
    tmux_alias: line,
    scope: line,
    suspended: flag,
    env,
  }),
);
export type AgentPatchSetInputBody = z.infer<typeof AgentPatchSetInputBody>;
export const RigPatchSetInputBody = contract(
  'RigPatchSetInputBody',
  z.strictObject({ name, path: line, prefix: line, default_branch: line, suspended: flag }),
);
export type RigPatchSetInputBody = z.infer<typeof RigPatchSetInputBody>;
export const ProviderPatchSetInputBody = contract(
  'ProviderPatchSetInputBody',
  z.strictObject({
    name,
    command: line,
    acp_command: line,
    args: lines,
    acp_args: lines,
    prompt_mode: line,
    prompt_flag: line,
    ready_delay_ms: int64.min(0).max(3_600_000).nullable().optional(),
    accept_startup_dialogs: flag,
    env,
  }),
);
export type ProviderPatchSetInputBody = z.infer<typeof ProviderPatchSetInputBody>;

const done = {
  status: z.string(),
  agent_patch: z.string().optional(),
  provider_patch: z.string().optional(),
  rig_patch: z.string().optional(),
};
export const PatchOKResponseBody = contract('PatchOKResponseBody', z.strictObject(done));
export type PatchOKResponseBody = z.infer<typeof PatchOKResponseBody>;
export const PatchDeletedResponseBody = contract('PatchDeletedResponseBody', z.strictObject(done));
export type PatchDeletedResponseBody = z.infer<typeof PatchDeletedResponseBody>;

export const PatchNameParam = text.min(1).max(256);
