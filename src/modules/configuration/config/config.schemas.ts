import { z } from 'zod';
import { CONFIG_CAUSES } from '../../../contract/events/config.events.js';
import { NetworkRule } from '../../../contract/network.js';
import { contract } from '../../../contract/registry.js';
import { queryInt, queryText } from '../../../contract/query.js';
import { dateTime, int64 } from '../../../contract/scalars.js';

const texts = z.array(z.string());
const textMap = z.record(z.string(), z.string());

export const ConfigAgentResponse = contract(
  'ConfigAgentResponse',
  z.strictObject({
    name: z.string(),
    suspended: z.boolean(),
    dir: z.string().optional(),
    is_pool: z.boolean().optional(),
    provider: z.string().optional(),
    scope: z.string().optional(),
  }),
);
export const ConfigRigResponse = contract(
  'ConfigRigResponse',
  z.strictObject({ name: z.string(), path: z.string(), suspended: z.boolean(), prefix: z.string().optional() }),
);
export const WorkspaceResponse = contract(
  'WorkspaceResponse',
  z.strictObject({
    name: z.string(),
    suspended: z.boolean(),
    declared_name: z.string().optional(),
    declared_prefix: z.string().optional(),
    max_active_sessions: int64.optional(),
    prefix: z.string().optional(),
    provider: z.string().optional(),
    session_template: z.string().optional(),
    network: NetworkRule.optional(),
  }),
);

export const ConfigUpdateInputBody = contract('ConfigUpdateInputBody', z.strictObject({ network: NetworkRule }));
export type ConfigUpdateInputBody = z.infer<typeof ConfigUpdateInputBody>;

/** Values of `env` are masked. */
export const ProviderSpecJSON = contract(
  'ProviderSpecJSON',
  z.strictObject({
    acp_args: texts.optional(),
    acp_command: z.string().optional(),
    args: texts.nullable().optional(),
    command: z.string().optional(),
    display_name: z.string().optional(),
    env: textMap.optional(),
    prompt_flag: z.string().optional(),
    prompt_mode: z.string().optional(),
    ready_delay_ms: int64.optional(),
    base: z.string().optional(),
    network: NetworkRule.optional(),
  }),
);
export type ProviderSpecJSON = z.infer<typeof ProviderSpecJSON>;
export const ConfigPatchesResponse = contract(
  'ConfigPatchesResponse',
  z.strictObject({ agent_count: int64, rig_count: int64, provider_count: int64 }),
);
/** Why the files as they are now are not what the city runs. */
export const ConfigRejection = contract('ConfigRejection', z.strictObject({ errors: texts, errors_total: int64, since: dateTime }));
export const ConfigResponse = contract(
  'ConfigResponse',
  z.strictObject({
    workspace: WorkspaceResponse,
    agents: z.array(ConfigAgentResponse).nullable(),
    rigs: z.array(ConfigRigResponse).nullable(),
    effective_api_url: z.string().optional(),
    patches: ConfigPatchesResponse.optional(),
    providers: z.record(z.string(), ProviderSpecJSON).optional(),
    revision: int64.optional(),
    hash: z.string().optional(),
    rejected: ConfigRejection.optional(),
  }),
);
export type ConfigResponse = z.infer<typeof ConfigResponse>;

/** Where one value of the composed result was written. Secret values are masked. */
export const ConfigValue = contract(
  'ConfigValue',
  z.strictObject({ path: z.string(), value: z.unknown(), file: z.string(), key: z.string() }),
  '`file` is a path in the city, `<pack>:<path>`, `builtin:<provider>`, or `default` or `derived` for values that nobody wrote.',
);
export type ConfigValue = z.infer<typeof ConfigValue>;
export const AnnotatedAgentResponse = contract(
  'AnnotatedAgentResponse',
  z.strictObject({
    name: z.string(),
    suspended: z.boolean(),
    origin: z.string(),
    dir: z.string().optional(),
    is_pool: z.boolean().optional(),
    provider: z.string().optional(),
    scope: z.string().optional(),
    source: z.string().optional(),
  }),
);
export const AnnotatedProviderResponse = contract(
  'AnnotatedProviderResponse',
  z.strictObject({ ...ProviderSpecJSON.shape, origin: z.string() }),
);
export const ConfigExplainPatches = contract('ConfigExplainPatches', z.strictObject({ agents: int64, rigs: int64, providers: int64 }));
export const ConfigExplainResponse = contract(
  'ConfigExplainResponse',
  z.strictObject({
    agents: z.array(AnnotatedAgentResponse).nullable(),
    providers: z.record(z.string(), AnnotatedProviderResponse),
    patches: ConfigExplainPatches,
    revision: int64.optional(),
    values: z.array(ConfigValue).optional(),
    values_total: int64.optional(),
    next_cursor: z.string().optional(),
  }),
);
export type ConfigExplainResponse = z.infer<typeof ConfigExplainResponse>;
export const ConfigExplainQuery = z.strictObject({
  /** A key of the composed result; everything below it is explained. */
  path: queryText({ max: 1_024 }),
  limit: queryInt({ min: 1, max: 5_000, default: 1_000 }),
  cursor: queryText({ max: 64 }),
});
export type ConfigExplainQuery = z.infer<typeof ConfigExplainQuery>;

export const ConfigValidateOutputBody = contract(
  'ConfigValidateOutputBody',
  z.strictObject({ valid: z.boolean(), errors: texts.nullable(), warnings: texts.nullable() }),
);
export type ConfigValidateOutputBody = z.infer<typeof ConfigValidateOutputBody>;

/** A candidate is composed while its sender waits, and parsing blocks the process: a quarter of what a file on disk may have. */
const MAX_TEXT = 256 * 1024;
/** Files to be looked at in place of those on disk; null takes one away. */
export const ConfigCandidateBody = contract(
  'ConfigCandidateBody',
  z.strictObject({
    files: z
      .record(z.string().min(1).max(1_024), z.string().max(MAX_TEXT).nullable())
      .refine((files) => Object.keys(files).length <= 100, 'must have at most 100 files')
      .refine(
        (files) => Object.values(files).reduce((sum, text) => sum + (text?.length ?? 0), 0) <= MAX_TEXT,
        'must not be larger than 256 KiB together',
      ),
  }),
);
export type ConfigCandidateBody = z.infer<typeof ConfigCandidateBody>;

export const ConfigReloadBody = contract(
  'ConfigReloadBody',
  z.strictObject({
    outcome: z.enum(['applied', 'no_change']),
    revision: int64,
    changed: texts,
    changed_total: int64,
    warnings: texts,
  }),
);
export type ConfigReloadBody = z.infer<typeof ConfigReloadBody>;

export const ConfigRevision = contract(
  'ConfigRevision',
  z.strictObject({
    revision: int64,
    hash: z.string(),
    cause: z.enum(CONFIG_CAUSES),
    actor: z.string(),
    changed: texts,
    changed_total: int64,
    warnings: texts,
    created_at: dateTime,
  }),
);
export type ConfigRevision = z.infer<typeof ConfigRevision>;
export const ListBodyConfigRevision = contract(
  'ListBodyConfigRevision',
  z.strictObject({ items: z.array(ConfigRevision), total: int64, next_cursor: z.string().optional() }),
);
export type ListBodyConfigRevision = z.infer<typeof ListBodyConfigRevision>;
export const ConfigRevisionsQuery = z.strictObject({
  limit: queryInt({ min: 1, max: 50, default: 20 }),
  cursor: queryText({ max: 64 }),
});
export type ConfigRevisionsQuery = z.infer<typeof ConfigRevisionsQuery>;

/** Everything a city is composed of, secrets masked, under the names of the files. */
export const ConfigComposed = contract('ConfigComposed', z.strictObject({ revision: int64, config: z.record(z.string(), z.unknown()) }));
export type ConfigComposed = z.infer<typeof ConfigComposed>;
export const ConfigComposedQuery = z.strictObject({ revision: queryInt({ min: 1 }) });
export type ConfigComposedQuery = z.infer<typeof ConfigComposedQuery>;

export const ConfigDifference = contract(
  'ConfigDifference',
  z.strictObject({ path: z.string(), before: z.unknown().optional(), after: z.unknown().optional() }),
);
export const ConfigDiffBody = contract(
  'ConfigDiffBody',
  z.strictObject({
    from: int64,
    to: z.string(),
    differences: z.array(ConfigDifference),
    total: int64,
    errors: texts.optional(),
  }),
  'From a revision to another one, or to the files as they are now. Secrets are masked; `errors` says why the files cannot be used.',
);
export type ConfigDiffBody = z.infer<typeof ConfigDiffBody>;
export const ConfigDiffQuery = z.strictObject({
  from: queryInt({ min: 1 }),
  /** A revision; the files on disk unless given. */
  to: queryInt({ min: 1 }),
});
export type ConfigDiffQuery = z.infer<typeof ConfigDiffQuery>;

/** A revision in a path. */
export const RevisionParam = queryInt({ min: 1 }).unwrap();
