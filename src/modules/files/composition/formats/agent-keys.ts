import type { z } from 'zod';
import {
  count,
  duration,
  durationOrOff,
  env,
  filled,
  flag,
  idle,
  key,
  limit,
  map,
  name,
  oneOf,
  rule,
  table,
  text,
  texts,
} from './values.js';

/** Keys of an agent wherever one is described, without its name. */
const AGENT_KEYS = {
  description: key(text, 'What the agent is for, as lists show it.'),
  dir: key(text, 'The rig that the agent belongs to; without it, it is of the city.'),
  scope: key(oneOf('city', 'rig'), 'Where an agent of a pack is: once in the city, or once in each rig that has the pack.'),
  work_dir: key(text, 'Folder that its sessions work in, below the city or the rig. `{{.Rig}}`, `{{.Agent}}` and such are filled in.'),
  tmux_alias: idle(text, 'Name of its window.'),
  suspended: key(flag, 'Keeps the agent from being started; `svc agent resume` is a switch beside the file.', false),
  prompt_template: key(text, 'File of its prompt. Without it `prompt.template.md` or `prompt.md` beside `agent.toml`.'),
  nudge: key(text, 'What a session is told when there is work for it, instead of the usual words.'),
  inject_fragments: key(texts, 'Texts of `template-fragments/` that come after its prompt.'),
  append_fragments: key(texts, 'More such texts, after those of `inject_fragments`.'),
  inject_assigned_skills: idle(flag, 'Whether its skills are told in its prompt.'),
  overlay_dir: key(text, 'Folder whose files are laid into its working directory. Without it `overlay/` beside `agent.toml`.'),
  provider: key(
    filled,
    'Provider of its sessions: a preset such as `claude`, or a name of `[providers]`. Without it `workspace.provider`.',
  ),
  upstream: key(text, 'Entry of `[upstreams]` that its program calls.'),
  start_command: key(text, 'A command of your own, or `exec:` and a script that runs sessions elsewhere, instead of a provider.'),
  args: key(texts, 'Arguments of its program, instead of those of its provider.'),
  session: key(
    oneOf('acp', 'tmux'),
    '`acp`: its program speaks the Agent Client Protocol. `tmux`: it has a terminal. Without it what the provider can do best.',
  ),
  lifecycle: key(oneOf('one_shot'), '`one_shot`: a session is over when its turn is; for scripts of `exec:`.'),
  prompt_mode: idle(
    oneOf('arg', 'flag', 'none'),
    'How a program in a terminal is given its prompt: as an argument, behind `prompt_flag`, or not at all.',
  ),
  prompt_flag: idle(text, 'The flag for `prompt_mode = "flag"`.'),
  ready_delay_ms: key(count, 'How long a command of your own is given after its start until it is ready, in milliseconds.'),
  ready_prompt_prefix: key(text, 'What the input line of its program begins with: it is ready when that shows.'),
  process_names: key(texts, 'Names of its processes, for scripts of `exec:` that look for them.'),
  env: key(env, 'Variables of its processes, over those of the provider and the city. `$NAME` is one of the worker.'),
  option_defaults: key(map, 'Options of its provider, such as `model` or `permission_mode`, by their keys.'),
  install_agent_hooks: key(texts, 'Presets whose hook files of an overlay are laid into the working directory as well.'),
  hooks_installed: idle(flag, 'Says that hooks are there already.'),
  pre_start: key(texts, 'Commands that run in the working directory before the process; one that fails ends the start.'),
  session_setup: key(texts, 'Commands that run when the process is ready; one that fails ends the start.'),
  session_setup_script: key(text, 'A script that runs after `session_setup`.'),
  session_live: key(texts, 'Commands that run last, when the session is set up.'),
  resume_command: idle(text, 'Command that goes on with a conversation.'),
  wake_mode: key(
    oneOf('resume', 'fresh'),
    '`resume`: a session that wakes goes on with its conversation. `fresh`: it begins a new one.',
    'resume',
  ),
  mouse_mode: idle(oneOf('on', 'off'), 'Whether its terminal takes the mouse.'),
  attach: key(flag, '`false`: nobody talks to it, so that `session_sleep.noninteractive` counts.', true),
  max_active_sessions: key(limit, 'So many sessions at once; -1 for no limit. 1 makes it one agent, more or none a pool.', -1),
  min_active_sessions: key(count, 'So many sessions also without work.', 0),
  scale_check: key(text, 'Command that prints how many sessions are wanted, looked at once a patrol.'),
  namepool: key(text, 'File with the names of the members of a pool, a line each. Without it `namepool.txt` beside `agent.toml`.'),
  drain_timeout: key(duration, 'How long a session may take to end its work when it is drained.', '5m'),
  depends_on: key(texts, 'Agents without whose sessions none of this one is started.'),
  idle_timeout: key(duration, 'After so long without work a session sleeps.'),
  max_session_age: key(duration, 'A session that is older begins a new process, between two turns.'),
  max_session_age_jitter: key(duration, 'Spreads that age, so that not all begin anew at once.', '0'),
  assigned_work_defer_limit: key(count, 'Patrols for which assigned work may put off that end; 0 for as long as there is some.', 0),
  sleep_after_idle: key(durationOrOff, 'As `idle_timeout`, which it wins over; `off`: it never sleeps by itself.'),
  on_boot: idle(text, 'Command at the start of the city.'),
  on_death: idle(text, 'Command when a session dies.'),
  work_query: idle(text, 'Command that finds work.'),
  sling_query: idle(text, 'Command that hands work over.'),
  default_sling_formula: key(text, 'Formula that a bead is run by when it is slung to this agent.'),
  skills: idle(texts, 'Skills of the agent.'),
  mcp: idle(texts, 'Servers of tools; put them into `mcp/` of the agent.'),
};

function agentRules<T extends z.ZodType>(schema: T): T {
  const flagged = rule(
    schema,
    'prompt_flag',
    'is required with prompt_mode flag',
    (agent) => agent.prompt_mode !== 'flag' || (agent.prompt_flag ?? '') !== '',
  );
  const sized = rule(
    flagged,
    'min_active_sessions',
    'must not be more than max_active_sessions',
    ({ min_active_sessions: min, max_active_sessions: max }) => {
      return typeof min !== 'number' || typeof max !== 'number' || max < 0 || min <= max;
    },
  );
  return sized.meta({
    if: { properties: { prompt_mode: { const: 'flag' } }, required: ['prompt_mode'] },
    then: { required: ['prompt_flag'] },
  });
}

/** What only a change of an agent can say. */
const CHANGE_KEYS = {
  ...AGENT_KEYS,
  env_remove: key(texts, 'Variables that the agent no longer gets.'),
  inject_fragments_append: key(texts, 'Adds to `inject_fragments` instead of replacing it.'),
  append_fragments_append: key(texts, 'Adds to `append_fragments`.'),
  install_agent_hooks_append: key(texts, 'Adds to `install_agent_hooks`.'),
  pre_start_append: key(texts, 'Adds to `pre_start`.'),
  session_setup_append: key(texts, 'Adds to `session_setup`.'),
  session_live_append: key(texts, 'Adds to `session_live`.'),
  skills_append: idle(texts, 'Adds to `skills`.'),
  mcp_append: idle(texts, 'Adds to `mcp`.'),
};

/** An agent of `[[agent]]`. */
export const agent = agentRules(table(AGENT_KEYS, { name: key(name, 'What it is called: letters, digits, `_` and `-`.') }));
/** An agent of its own folder, which is its name. */
export const folderAgent = agentRules(table(AGENT_KEYS));
/** A change of an agent that `name` (and `dir`) find. */
export const agentPatch = table(CHANGE_KEYS, {
  name: key(filled, 'The agent that is changed, such as `core.worker`; with `dir` that of a rig.'),
});
/** A rig's change of one of its agents: `agent` is the bare name. */
export const rigAgentPatch = table(CHANGE_KEYS, { agent: key(filled, 'The agent of the rig that is changed, by its bare name.') });
