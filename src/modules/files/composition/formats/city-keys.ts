import { z } from 'zod';
import { NetworkRule } from '../../../../contract/network.js';
import { agentPatch, rigAgentPatch } from './agent-keys.js';
import { providerPatch } from './provider-keys.js';
import { duration, filled, flag, limit, listOf, map, name, named, oneOf, port, table, text, texts, zone, env } from './values.js';

export const imported = table({ version: text, transitive: flag, shadow: oneOf('warn', 'silent'), export: flag }, { source: filled });
export const imports = named(imported);

/** Prefixes make ids; letter case does not tell them apart. */
export const prefix = z.string().regex(/^[a-zA-Z][a-zA-Z0-9]{0,11}$/, 'must be a letter and up to 11 letters or digits');

export const workspace = table({
  name: filled,
  prefix,
  provider: filled,
  timezone: zone,
  start_command: filled,
  suspended_on_start: flag,
  suspended: flag,
  max_active_sessions: limit,
  session_template: text,
  install_agent_hooks: texts,
  global_fragments: texts,
  env,
  network: NetworkRule,
  includes: texts,
  default_rig_includes: texts,
});

const variable = z.string().regex(/^[A-Z][A-Z0-9_]{0,127}$/, 'must match ^[A-Z][A-Z0-9_]{0,127}$');
export const agentDefaults = table({
  provider: filled,
  model: text,
  upstream: text,
  wake_mode: oneOf('resume', 'fresh'),
  default_sling_formula: text,
  allow_overlay: texts,
  allow_env_override: z.array(variable),
  append_fragments: texts,
});

export const namedSession = table(
  { name, scope: oneOf('city', 'rig'), dir: text, mode: oneOf('on_demand', 'always') },
  { template: filled },
);

export const sessionSleep = table({ interactive_resume: duration, interactive_fresh: duration, noninteractive: duration });

/** Also part of qualified names and of paths. */
const rigName = z.string().regex(/^(?!\.{1,2}$)[A-Za-z0-9._-]{1,64}$/, 'must be 1 to 64 letters, digits, dots, underscores or hyphens');
export const rig = table(
  {
    path: filled,
    prefix,
    default_branch: text,
    suspended_on_start: flag,
    suspended: flag,
    formulas_dir: text,
    imports,
    max_active_sessions: limit,
    overrides: listOf(rigAgentPatch),
    patches: listOf(rigAgentPatch),
    default_sling_target: text,
    default_sling_targets: texts,
    session_sleep: sessionSleep,
    dolt_host: text,
    dolt_port: port,
    formula_vars: map,
    includes: texts,
  },
  { name: rigName },
);

const visibility = oneOf('private', 'public', 'tenant');
const publication = table({ visibility, hostname: text, allow_websockets: flag });
const SERVICE_KEYS = {
  kind: oneOf('workflow', 'proxy_process'),
  state_root: text,
  publication,
  workflow: table({ contract: text }),
  process: table({ command: texts, health_path: text }),
};
export const service = table({ ...SERVICE_KEYS, publish_mode: oneOf('private', 'direct') }, { name });
export const packService = table({ ...SERVICE_KEYS, publish_mode: oneOf('private') }, { name });

const tier = table({
  prompt_usd_per_1m: z.number().min(0),
  completion_usd_per_1m: z.number().min(0),
  cache_read_usd_per_1m: z.number().min(0),
  cache_creation_usd_per_1m: z.number().min(0),
});
const day = z.string().refine((written) => z.iso.date().safeParse(written).success, 'must be a day such as 2026-01-15');
export const pricing = table({ tier, last_verified: day }, { provider: filled, model: filled });

const MONITOR_KEYS = {
  notify: texts,
  repair_workflow: text,
  webhook_secret_env: text,
  webhook_secret_key: text,
  poll_interval: duration,
  merge_queue: oneOf('ignore', 'observe', 'repair'),
};
const MONITORED = { owner: filled, repo: filled, base_branches: z.array(filled).min(1), rig: filled, repair_route: filled };
export const prMonitor = table(MONITOR_KEYS, { name, ...MONITORED });
const prMonitorPatch = table({ ...MONITOR_KEYS, ...MONITORED, notify_append: texts }, { name: filled });

export const namedSessionPatch = table({ dir: text, name: text, template: text, mode: oneOf('on_demand', 'always') });
const rigPatch = table(
  { path: filled, prefix, default_branch: text, suspended_on_start: flag, suspended: flag, formula_vars: map },
  { name: filled },
);
export const patches = table({
  agent: listOf(agentPatch),
  named_session: listOf(namedSessionPatch),
  rigs: listOf(rigPatch),
  providers: listOf(providerPatch),
  github_pr_monitor: listOf(prMonitorPatch),
});
