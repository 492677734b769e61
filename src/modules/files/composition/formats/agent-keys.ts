import type { z } from 'zod';
import { duration, durationOrOff, filled, flag, limit, map, oneOf, text, rule, texts, count, table, name, env } from './values.js';

/** Keys of an agent wherever one is described, without its name. */
export const AGENT_KEYS = {
  description: text,
  dir: text,
  scope: oneOf('city', 'rig'),
  work_dir: text,
  tmux_alias: text,
  suspended: flag,
  prompt_template: text,
  nudge: text,
  inject_fragments: texts,
  append_fragments: texts,
  inject_assigned_skills: flag,
  overlay_dir: text,
  provider: filled,
  upstream: text,
  start_command: text,
  args: texts,
  session: oneOf('acp', 'tmux'),
  lifecycle: oneOf('one_shot'),
  prompt_mode: oneOf('arg', 'flag', 'none'),
  prompt_flag: text,
  ready_delay_ms: count,
  ready_prompt_prefix: text,
  process_names: texts,
  env,
  option_defaults: map,
  install_agent_hooks: texts,
  hooks_installed: flag,
  pre_start: texts,
  session_setup: texts,
  session_setup_script: text,
  session_live: texts,
  resume_command: text,
  wake_mode: oneOf('resume', 'fresh'),
  mouse_mode: oneOf('on', 'off'),
  attach: flag,
  max_active_sessions: limit,
  min_active_sessions: count,
  scale_check: text,
  namepool: text,
  drain_timeout: duration,
  depends_on: texts,
  idle_timeout: duration,
  max_session_age: duration,
  max_session_age_jitter: duration,
  assigned_work_defer_limit: count,
  sleep_after_idle: durationOrOff,
  on_boot: text,
  on_death: text,
  work_query: text,
  sling_query: text,
  default_sling_formula: text,
  skills: texts,
  mcp: texts,
};

function agentRules<T extends z.ZodType>(schema: T): T {
  const flagged = rule(
    schema,
    'prompt_flag',
    'is required with prompt_mode flag',
    (agent) => agent.prompt_mode !== 'flag' || (agent.prompt_flag ?? '') !== '',
  );
  return rule(
    flagged,
    'min_active_sessions',
    'must not be more than max_active_sessions',
    ({ min_active_sessions: min, max_active_sessions: max }) => {
      return typeof min !== 'number' || typeof max !== 'number' || max < 0 || min <= max;
    },
  );
}

/** What only a change of an agent can say. */
const CHANGE_KEYS = {
  ...AGENT_KEYS,
  env_remove: texts,
  inject_fragments_append: texts,
  append_fragments_append: texts,
  install_agent_hooks_append: texts,
  pre_start_append: texts,
  session_setup_append: texts,
  session_live_append: texts,
  skills_append: texts,
  mcp_append: texts,
};

/** An agent of `[[agent]]`. */
export const agent = agentRules(table(AGENT_KEYS, { name }));
/** An agent of its own folder, which is its name. */
export const folderAgent = agentRules(table(AGENT_KEYS));
/** A change of an agent that `name` (and `dir`) find. */
export const agentPatch = table(CHANGE_KEYS, { name: filled });
/** A rig's change of one of its agents: `agent` is the bare name. */
export const rigAgentPatch = table(CHANGE_KEYS, { agent: filled });
