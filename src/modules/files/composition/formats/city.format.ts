import { agent } from './agent-keys.js';
import { agentDefaults, imports, namedSession, patches, pricing, prMonitor, rig, service, sessionSleep, workspace } from './city-keys.js';
import type { Format } from './format.js';
import { provider, upstream } from './provider-keys.js';
import { SUBSYSTEMS } from './subsystem-keys.js';
import { forbidden, listOf, loose, named, table, texts } from './values.js';
import { webhook } from './webhook-keys.js';

const CITY_KEYS = {
  workspace,
  providers: named(provider),
  upstreams: named(upstream),
  imports,
  defaults: table({ rig: table({ imports }) }),
  agent: listOf(agent),
  named_session: listOf(namedSession),
  rigs: listOf(rig),
  service: listOf(service),
  webhook: listOf(webhook),
  pricing: listOf(pricing),
  patches,
  agent_defaults: agentDefaults,
  agents: agentDefaults,
  session_sleep: sessionSleep,
  ...SUBSYSTEMS,
  github: table({ pr_monitor: listOf(prMonitor) }),
  formulas: table({ dir: forbidden('is not supported; formulas lie in formulas/') }),
  packs: named(loose),
};

const RENAMED = [
  { table: '', old: 'agents', now: 'agent_defaults' },
  { table: 'workspace', old: 'suspended', now: 'suspended_on_start' },
  { table: 'rigs[]', old: 'suspended', now: 'suspended_on_start' },
  { table: 'patches.rigs[]', old: 'suspended', now: 'suspended_on_start' },
  { table: 'daemon', old: 'graph_workflows', now: 'formula_v2' },
  { table: 'orders.overrides[]', old: 'gate', now: 'trigger' },
];

const MEANINGLESS = [
  ...['agent[]', 'patches.agent[]', 'rigs[].overrides[]', 'rigs[].patches[]'].flatMap((at) => [`${at}.skills`, `${at}.mcp`]),
  ...['patches.agent[]', 'rigs[].overrides[]', 'rigs[].patches[]'].flatMap((at) => [`${at}.skills_append`, `${at}.mcp_append`]),
];

const STRICT = ['imports', 'defaults.rig.imports', 'rigs[].imports'];

/** `city.toml`. */
export const CITY_FORMAT: Format = {
  schema: table({ include: texts, ...CITY_KEYS }),
  unknown: 'warning',
  strict: STRICT,
  renamed: RENAMED,
  meaningless: MEANINGLESS,
};

/** A file that `include` of `city.toml` names. */
export const FRAGMENT_FORMAT: Format = {
  ...CITY_FORMAT,
  schema: table({ include: forbidden('a fragment cannot include other files'), ...CITY_KEYS }),
};
