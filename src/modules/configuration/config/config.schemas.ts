import { z } from 'zod';
import { boundedMap } from '../../../contract/bounded-map.js';
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
    name: z.string().describe('Its name without the rig; one of a pack begins with the name of the import.'),
    suspended: z.boolean(),
    dir: z.string().optional().describe('The rig. Absent for an agent of the city.'),
    is_pool: z.boolean().optional(),
    provider: z.string().optional(),
    scope: z.string().optional(),
  }),
  'An agent of the configuration.',
);
export const ConfigRigResponse = contract(
  'ConfigRigResponse',
  z.strictObject({
    name: z.string(),
    path: z.string().describe('The directory of the rig.'),
    suspended: z.boolean(),
    prefix: z.string().optional(),
  }),
  'A rig of the configuration.',
);
export const WorkspaceResponse = contract(
  'WorkspaceResponse',
  z.strictObject({
    name: z.string().describe('The name of the city.'),
    suspended: z.boolean(),
    declared_name: z.string().optional().describe('The name that the files say, where it is another one.'),
    declared_prefix: z.string().optional().describe('The prefix that the files say, where it is another one.'),
    max_active_sessions: int64.optional(),
    prefix: z.string().optional(),
    provider: z.string().optional().describe('The provider that agents have unless they say another one.'),
    session_template: z.string().optional(),
    network: NetworkRule.optional(),
  }),
  'What holds for the whole city.',
);

export const ConfigUpdateInputBody = contract(
  'ConfigUpdateInputBody',
  z.strictObject({ network: NetworkRule }),
  'What is to hold for the whole city.',
);
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
  'How a provider is started.',
);
export type ProviderSpecJSON = z.infer<typeof ProviderSpecJSON>;
export const ConfigPatchesResponse = contract(
  'ConfigPatchesResponse',
  z.strictObject({
    agent_count: int64.describe('How many patches of agents there are.'),
    rig_count: int64.describe('How many patches of rigs there are.'),
    provider_count: int64.describe('How many patches of providers there are.'),
  }),
  'How many patches there are.',
);
/** Why the files as they are now are not what the city runs. */
export const ConfigRejection = contract(
  'ConfigRejection',
  z.strictObject({ errors: texts, errors_total: int64, since: dateTime.describe('Since when the files cannot be used. RFC 3339 in UTC.') }),
  'Why the files as they are now are not what the city runs.',
);
export type ConfigRejection = z.infer<typeof ConfigRejection>;
export const ConfigResponse = contract(
  'ConfigResponse',
  z.strictObject({
    workspace: WorkspaceResponse,
    agents: z.array(ConfigAgentResponse).nullable(),
    rigs: z.array(ConfigRigResponse).nullable().describe('The rigs. Null is the same as none.'),
    effective_api_url: z.string().optional().describe('Where the service is reached, as agents are told.'),
    patches: ConfigPatchesResponse.optional(),
    providers: z.record(z.string(), ProviderSpecJSON).optional(),
    revision: int64.optional(),
    hash: z.string().optional(),
    rejected: ConfigRejection.optional(),
  }),
  'The configuration that the city runs.',
);
export type ConfigResponse = z.infer<typeof ConfigResponse>;

/** Where one value of the composed result was written. Secret values are masked. */
export const ConfigValue = contract(
  'ConfigValue',
  z.strictObject({
    path: z.string().describe('The key of the composed result, in dotted form.'),
    value: z.unknown().describe('The value. Secrets are masked.'),
    file: z.string().describe('The file that says it.'),
    key: z.string().describe('The key under which that file says it.'),
  }),
  '`file` is a path in the city, `<pack>:<path>`, `builtin:<provider>`, or `default` or `derived` for values that nobody wrote.',
);
export type ConfigValue = z.infer<typeof ConfigValue>;
export const AnnotatedAgentResponse = contract(
  'AnnotatedAgentResponse',
  z.strictObject({
    name: z.string().describe('Its name without the rig; one of a pack begins with the name of the import.'),
    suspended: z.boolean(),
    origin: z.string().describe('Where it was written: the file, or the pack and its file.'),
    dir: z.string().optional().describe('The rig. Absent for an agent of the city.'),
    is_pool: z.boolean().optional(),
    provider: z.string().optional(),
    scope: z.string().optional(),
    source: z.string().optional().describe('The pack that it comes from.'),
  }),
  'An agent, and where it was written.',
);
export const AnnotatedProviderResponse = contract(
  'AnnotatedProviderResponse',
  z.strictObject({ ...ProviderSpecJSON.shape, origin: z.string() }),
  'A provider, and where it was written.',
);
export const ConfigExplainPatches = contract(
  'ConfigExplainPatches',
  z.strictObject({
    agents: int64.describe('Patches of agents.'),
    rigs: int64.describe('Patches of rigs.'),
    providers: int64.describe('Patches of providers.'),
  }),
  'How many patches count.',
);
export const ConfigExplainResponse = contract(
  'ConfigExplainResponse',
  z.strictObject({
    agents: z.array(AnnotatedAgentResponse).nullable(),
    providers: z.record(z.string(), AnnotatedProviderResponse),
    patches: ConfigExplainPatches.describe('How many patches count.'),
    revision: int64.optional(),
    values: z.array(ConfigValue).optional().describe('Values with the place where each was written; with `path` those below it.'),
    values_total: int64.optional().describe('How many values there are in all.'),
    next_cursor: z.string().optional(),
  }),
  'Where every value of the configuration was written.',
);
export type ConfigExplainResponse = z.infer<typeof ConfigExplainResponse>;
export const ConfigExplainQuery = z.strictObject({
  /** A key of the composed result; everything below it is explained. */
  path: queryText({ max: 1_024 }).describe('A key of the composed result; everything below it is explained.'),
  limit: queryInt({ min: 1, max: 5_000, default: 1_000 }),
  cursor: queryText({ max: 64 }),
});
export type ConfigExplainQuery = z.infer<typeof ConfigExplainQuery>;

export const ConfigValidateOutputBody = contract(
  'ConfigValidateOutputBody',
  z.strictObject({ valid: z.boolean(), errors: texts.nullable(), warnings: texts.nullable() }),
  'Whether files can be used.',
);
export type ConfigValidateOutputBody = z.infer<typeof ConfigValidateOutputBody>;

/** A candidate is composed while its sender waits, and parsing blocks the process: a quarter of what a file on disk may have. */
const MAX_TEXT = 256 * 1024;
/** Files to be looked at in place of those on disk; null takes one away. */
export const ConfigCandidateBody = contract(
  'ConfigCandidateBody',
  z.strictObject({
    files: boundedMap(z.record(z.string().min(1).max(1_024), z.string().max(MAX_TEXT).nullable()), 100, 'must have at most 100 files')
      .refine(
        (files) => Object.values(files).reduce((sum, text) => sum + (text?.length ?? 0), 0) <= MAX_TEXT,
        'must not be larger than 256 KiB together',
      )
      .describe(
        'Texts of files by their paths in the city, instead of those on disk; null takes one away. 100 files and 256 KiB at the most.',
      ),
  }),
  'Files to be looked at in place of those on disk.',
);
export type ConfigCandidateBody = z.infer<typeof ConfigCandidateBody>;

export const ConfigReloadBody = contract(
  'ConfigReloadBody',
  z.strictObject({
    outcome: z.enum(['applied', 'no_change']).describe('`applied`: another configuration counts now. `no_change`: the files say the same.'),
    revision: int64,
    changed: texts,
    changed_total: int64,
    warnings: texts,
  }),
  'What came of reading the files again.',
);
export type ConfigReloadBody = z.infer<typeof ConfigReloadBody>;

export const ConfigRevision = contract(
  'ConfigRevision',
  z.strictObject({
    revision: int64,
    hash: z.string(),
    cause: z
      .enum(CONFIG_CAUSES)
      .describe(
        'Why there is a new revision: the city came up, its files changed, a request changed them, or somebody asked to read them again.',
      ),
    actor: z.string(),
    changed: texts,
    changed_total: int64,
    warnings: texts.describe('What is not forbidden and may be a mistake.'),
    created_at: dateTime,
  }),
  'A revision of the configuration.',
);
export type ConfigRevision = z.infer<typeof ConfigRevision>;
export const ListBodyConfigRevision = contract(
  'ListBodyConfigRevision',
  z.strictObject({ items: z.array(ConfigRevision), total: int64, next_cursor: z.string().optional() }),
  'A page of revisions.',
);
export type ListBodyConfigRevision = z.infer<typeof ListBodyConfigRevision>;
export const ConfigRevisionsQuery = z.strictObject({
  limit: queryInt({ min: 1, max: 50, default: 20 }),
  cursor: queryText({ max: 64 }),
});
export type ConfigRevisionsQuery = z.infer<typeof ConfigRevisionsQuery>;

/** Everything a city is composed of, secrets masked, under the names of the files. */
export const ConfigComposed = contract(
  'ConfigComposed',
  z.strictObject({
    revision: int64,
    config: z.record(z.string(), z.unknown()).describe('Everything, under the names of the files. Secrets are masked.'),
  }),
  'Everything that a city is composed of.',
);
export type ConfigComposed = z.infer<typeof ConfigComposed>;
export const ConfigComposedQuery = z.strictObject({
  revision: queryInt({ min: 1 }).describe('The revision. Absent: the one that counts.'),
});
export type ConfigComposedQuery = z.infer<typeof ConfigComposedQuery>;

export const ConfigDifference = contract(
  'ConfigDifference',
  z.strictObject({
    path: z.string().describe('The key, in dotted form.'),
    before: z.unknown().optional().describe('Its value in `from`. Absent when it is not there.'),
    after: z.unknown().optional().describe('Its value in `to`. Absent when it is not there.'),
  }),
  'A key whose value differs.',
);
export const ConfigDiffBody = contract(
  'ConfigDiffBody',
  z.strictObject({
    from: int64.describe('The revision that is compared.'),
    to: z.string().describe('The other one: a revision, or `files`.'),
    differences: z.array(ConfigDifference).describe('What differs; the first thousand keys.'),
    total: int64.describe('How many keys differ.'),
    errors: texts.optional(),
  }),
  'From a revision to another one, or to the files as they are now. Secrets are masked; `errors` says why the files cannot be used.',
);
export type ConfigDiffBody = z.infer<typeof ConfigDiffBody>;
export const ConfigDiffQuery = z.strictObject({
  from: queryInt({ min: 1 }).describe('The revision that is compared. Absent: the one that counts.'),
  /** A revision; the files on disk unless given. */
  to: queryInt({ min: 1 }).describe('A revision. Absent: the files on disk.'),
});
export type ConfigDiffQuery = z.infer<typeof ConfigDiffQuery>;

/** A revision in a path. */
export const RevisionParam = queryInt({ min: 1 }).unwrap().describe('The number of the revision.');
