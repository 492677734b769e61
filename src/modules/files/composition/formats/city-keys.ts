import { z } from 'zod';
import { NetworkRule } from '../../../../contract/network.js';
import { agentPatch, rigAgentPatch } from './agent-keys.js';
import { providerPatch } from './provider-keys.js';
import {
  duration,
  env,
  filled,
  flag,
  former,
  idle,
  key,
  limit,
  listOf,
  map,
  name,
  named,
  oneOf,
  port,
  table,
  text,
  texts,
  zone,
} from './values.js';

export const imported = table(
  {
    version: key(text, 'Which versions will do, such as `^1.2`, or a commit; `packs.lock` has the one that is used.'),
    transitive: key(flag, 'Whether the packs that it imports come as well.', true),
    shadow: key(oneOf('warn', 'silent'), 'Whether it is told when something here stands before something of the pack.', 'warn'),
    export: idle(flag, 'Whether packs that import this one have it as well.'),
  },
  { source: key(filled, 'Folder below the city, repository (`https://…/repo.git//folder`), or `builtin:core`.') },
);
export const imports = named(imported);

/** Prefixes make ids; letter case does not tell them apart. */
export const prefix = z.string().regex(/^[a-zA-Z][a-zA-Z0-9]{0,11}$/, 'must be a letter and up to 11 letters or digits');

export const workspace = table({
  name: key(filled, 'What the city is called, when it is not what its folder is called.'),
  prefix: key(prefix, 'First part of the ids of its beads and sessions. Without it, it is made of the name.'),
  provider: key(filled, 'Provider of all agents that name none.'),
  timezone: key(zone, 'Clock of schedules and of "today".', 'UTC'),
  start_command: key(filled, 'A command of your own for all agents that have neither a provider nor a command.'),
  suspended_on_start: key(flag, 'Whether the city starts no agents; `svc city resume` is a switch beside the file.', false),
  suspended: former(flag, 'suspended_on_start'),
  max_active_sessions: key(limit, 'Sessions of the whole city at once; -1 for no limit.', -1),
  session_template: key(
    text,
    'How the processes of named sessions are called, with `{{.City}}`, `{{.Agent}}`, `{{.Name}}` and `{{.Rig}}`.',
  ),
  install_agent_hooks: idle(texts, 'Presets whose hooks all agents get; say it of an agent.'),
  global_fragments: key(texts, 'Texts of `template-fragments/` at the end of every prompt.'),
  env: key(env, 'Variables of the sessions of all agents.'),
  network: key(NetworkRule, 'What sessions reach: `all`, `api` (nothing but our API), or a list of hosts beside it.', 'all'),
  includes: key(texts, "Packs in the old way; `[imports]` is today's."),
  default_rig_includes: idle(texts, "Packs of new rigs in the old way; `[defaults.rig.imports]` is today's."),
});

const variable = z.string().regex(/^[A-Z][A-Z0-9_]{0,127}$/, 'must match ^[A-Z][A-Z0-9_]{0,127}$');
export const agentDefaults = table({
  provider: key(filled, 'Provider of agents that name none.'),
  model: idle(text, 'Model of agents; say it in `option_defaults` of the provider.'),
  upstream: key(text, 'Upstream of agents that name none.'),
  wake_mode: idle(oneOf('resume', 'fresh'), 'As of an agent.'),
  default_sling_formula: key(text, 'Formula of agents that name none.'),
  allow_overlay: idle(texts, 'What overlays may replace.'),
  allow_env_override: idle(z.array(variable), 'Variables that may be set for one session.'),
  append_fragments: key(texts, 'Texts that come after those of each agent.'),
});

const mode = key(
  oneOf('on_demand', 'always'),
  '`always`: it runs from the start of the city. `on_demand`: when somebody wants it.',
  'on_demand',
);
export const namedSession = table(
  {
    name: key(name, 'What it is called; without it as its agent.'),
    scope: key(oneOf('city', 'rig'), 'Of a pack: one in the city, or one in each rig that has the pack.'),
    dir: key(text, 'The rig that it is of.'),
    mode,
  },
  { template: key(filled, 'The agent that it is a session of.') },
);

export const sessionSleep = table({
  interactive_resume: key(duration, 'After so long without work sessions sleep that go on with their conversation.'),
  interactive_fresh: key(duration, 'The same for agents with `wake_mode = "fresh"`.'),
  noninteractive: key(duration, 'The same for agents with `attach = false`.'),
});

/** Also part of qualified names and of paths. */
const rigName = z.string().regex(/^(?!\.{1,2}$)[A-Za-z0-9._-]{1,64}$/, 'must be 1 to 64 letters, digits, dots, underscores or hyphens');
export const rig = table(
  {
    path: key(filled, 'Folder of the repository, below the city. Where it lies elsewhere, `.gc/site.toml` has it.'),
    prefix: key(prefix, 'First part of the ids of its beads. Without it, it is made of the name.'),
    default_branch: key(text, 'Branch that work begins from. Without it what the clone is at.'),
    suspended_on_start: key(flag, 'Whether no agents are started in it; `svc rig resume` is a switch beside the file.', false),
    suspended: former(flag, 'suspended_on_start'),
    formulas_dir: key(text, 'Folder with formulas for this rig, over those of its packs and the city.'),
    imports: key(imports, 'Packs for this rig alone.'),
    max_active_sessions: key(limit, 'Sessions in this rig at once; -1 for no limit.', -1),
    overrides: key(listOf(rigAgentPatch), 'Changes of agents of this rig, before the patches.'),
    patches: key(listOf(rigAgentPatch), 'Changes of agents of this rig.'),
    default_sling_target: idle(text, 'Agent that beads of this rig are for. That it exists is checked.'),
    default_sling_targets: idle(texts, 'Several of them. That they exist is checked.'),
    session_sleep: key(sessionSleep, 'When sessions of this rig sleep; before that of the city.'),
    dolt_host: idle(text, 'Host of its store.'),
    dolt_port: idle(port, 'Port of its store.'),
    formula_vars: key(map, 'Values of variables of formulas that run in this rig.'),
    includes: key(texts, "Packs in the old way; `imports` is today's."),
  },
  { name: key(rigName, 'What it is called; agents in it are `rig/agent`.') },
);

const visibility = oneOf('private', 'public', 'tenant');
const publication = table({
  visibility: key(visibility, 'Who may reach it, as lists say it; `publish_mode` decides.'),
  hostname: key(text, 'Name that lists show for it.'),
  allow_websockets: key(flag, 'Whether WebSockets are let through.', false),
});
const SERVICE_KEYS = {
  kind: key(oneOf('workflow', 'proxy_process'), 'Built in, or a process of your own.', 'workflow'),
  state_root: key(text, 'Folder for what it keeps, below `.gc/services/` of the city.'),
  publication: key(publication, 'How it is published.'),
  workflow: key(table({ contract: key(text, '`gc.healthz.v1`, the one that there is.') }), 'For `kind = "workflow"`.'),
  process: key(
    table({
      command: key(texts, 'Program and arguments; it listens at the socket `SVC_SERVICE_SOCKET`.'),
      health_path: key(text, 'Path that answers 2xx when it is ready.'),
    }),
    'For `kind = "proxy_process"`.',
  ),
};
const serviceName = key(name, 'What it is called: it is reached below `/v0/city/CITY/svc/NAME/`.');
export const service = table(
  {
    ...SERVICE_KEYS,
    publish_mode: key(oneOf('private', 'direct'), '`direct`: everybody who reaches the listener reaches the service.', 'private'),
  },
  { name: serviceName },
);
export const packService = table(
  { ...SERVICE_KEYS, publish_mode: key(oneOf('private'), 'Only the city itself may say `direct`.', 'private') },
  { name: serviceName },
);

/** Dollars for a million tokens, far beyond every price: sums of costs stay finite. */
export const MAX_USD_PER_1M = 1e6;
const price = z.number().min(0).max(MAX_USD_PER_1M);
const tier = table({
  prompt_usd_per_1m: key(price, 'Dollars for a million tokens of what is sent.'),
  completion_usd_per_1m: key(price, 'Dollars for a million tokens of what is answered.'),
  cache_read_usd_per_1m: key(price, 'Dollars for a million tokens of what is read from a cache.'),
  cache_creation_usd_per_1m: key(price, 'Dollars for a million tokens of what is put into a cache.'),
});
const day = z
  .string()
  .refine((written) => z.iso.date().safeParse(written).success, 'must be a day such as 2026-01-15')
  .meta({ format: 'date' });
export const pricing = table(
  { tier: key(tier, 'The prices.'), last_verified: idle(day, 'When somebody looked last.') },
  { provider: key(filled, 'Provider whose turns cost this.'), model: key(filled, 'Model that the turn says.') },
);

const MONITOR_KEYS = {
  notify: idle(texts, 'Who is told.'),
  repair_workflow: idle(text, 'Formula that repairs.'),
  webhook_secret_env: idle(text, 'Variable with the secret of the webhook.'),
  webhook_secret_key: idle(text, 'Key of the secret.'),
  poll_interval: idle(duration, 'How often is looked.'),
  merge_queue: idle(oneOf('ignore', 'observe', 'repair'), 'What becomes of the merge queue.'),
};
const MONITORED = {
  owner: idle(filled, 'Owner of the repository.'),
  repo: idle(filled, 'Its name.'),
  base_branches: idle(z.array(filled).min(1), 'Branches whose pull requests are meant.'),
  rig: idle(filled, 'The rig of the repository. That it exists is checked.'),
  repair_route: idle(filled, 'Agent that repairs.'),
};
export const prMonitor = table(MONITOR_KEYS, { name: idle(name, 'What it is called.'), ...MONITORED });
const prMonitorPatch = table(
  { ...MONITOR_KEYS, ...MONITORED, notify_append: idle(texts, 'Adds to `notify`.') },
  { name: idle(filled, 'The monitor that is changed.') },
);

export const namedSessionPatch = table({
  dir: key(text, 'The rig of the session that is changed.'),
  name: key(text, 'Its name.'),
  template: key(text, 'Its agent; with `name` one that is called otherwise is found.'),
  mode,
});
const rigPatch = table(
  {
    path: key(filled, 'Folder of the repository.'),
    prefix: key(prefix, 'First part of the ids of its beads.'),
    default_branch: key(text, 'Branch that work begins from.'),
    suspended_on_start: key(flag, 'Whether no agents are started in it; `svc rig resume` is a switch beside the file.'),
    suspended: former(flag, 'suspended_on_start'),
    formula_vars: key(map, 'Adds to the values of variables of formulas.'),
  },
  { name: key(filled, 'The rig that is changed.') },
);
export const patches = table({
  agent: key(listOf(agentPatch), 'Changes of agents, wherever these come from.'),
  named_session: key(listOf(namedSessionPatch), 'Changes of named sessions.'),
  rigs: key(listOf(rigPatch), 'Changes of rigs.'),
  providers: key(listOf(providerPatch), 'Changes of providers.'),
  github_pr_monitor: key(listOf(prMonitorPatch), 'Changes of monitors.'),
});
