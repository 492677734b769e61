import { agent } from './agent-keys.js';
import { agentDefaults, imports, namedSession, patches, pricing, prMonitor, rig, service, sessionSleep, workspace } from './city-keys.js';
import type { Format } from './format.js';
import { provider, upstream } from './provider-keys.js';
import { SUBSYSTEMS } from './subsystem-keys.js';
import { forbidden, former, idle, key, listOf, loose, named, table, texts } from './values.js';
import { webhook } from './webhook-keys.js';

const CITY_KEYS = {
  workspace: key(workspace, 'The city as a whole.'),
  providers: key(named(provider), 'What sessions run, by name: presets, changed or as they are, and programs of your own.'),
  upstreams: key(named(upstream), 'Model endpoints that agents call, by name.'),
  imports: key(imports, 'Packs, by the name that their agents have here: `binding.agent`.'),
  defaults: key(
    table({ rig: key(table({ imports: key(imports, 'Packs that new rigs get.') }), 'What new rigs get.') }),
    'What new objects get.',
  ),
  agent: key(listOf(agent), 'Agents of the city. One in a folder of its own, `agents/NAME/agent.toml`, needs no table here.'),
  named_session: key(listOf(namedSession), 'Sessions that are there under a name, without anybody making them.'),
  rigs: key(listOf(rig), 'Repositories that the city works on.'),
  service: key(listOf(service), 'Programs that the city serves.'),
  webhook: key(listOf(webhook), 'What other systems send, and which orders it fires.'),
  pricing: key(listOf(pricing), 'What turns cost, where the agent does not say it.'),
  patches: key(patches, 'Changes on top of all files and packs.'),
  agent_defaults: key(agentDefaults, 'What agents get that say nothing themselves.'),
  agents: former(agentDefaults, 'agent_defaults'),
  session_sleep: key(sessionSleep, 'When sessions without work sleep; an agent says it for itself.'),
  ...SUBSYSTEMS,
  github: idle(table({ pr_monitor: idle(listOf(prMonitor), 'Pull requests that are looked after.') }), 'What belongs to GitHub.'),
  formulas: idle(table({ dir: forbidden('is not supported; formulas lie in formulas/') }), 'Formulas lie in `formulas/`.'),
  packs: idle(named(loose), 'Packs in an old way.'),
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
  schema: table({ include: key(texts, 'Further files of this format, below the city; the later ones win.'), ...CITY_KEYS }),
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
