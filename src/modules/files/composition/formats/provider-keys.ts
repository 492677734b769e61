import { z } from 'zod';
import { NetworkRule } from '../../../../contract/network.js';
import { count, filled, flag, listOf, map, oneOf, table, text, texts, env } from './values.js';

const choice = table({ label: text, flag_args: texts, flag_aliases: z.array(texts) }, { value: text });
const option = table({ label: text, type: oneOf('select'), default: text, choices: listOf(choice), omit: flag }, { key: filled });

const PROVIDER_KEYS = {
  base: text,
  command: text,
  args: texts,
  args_append: texts,
  display_name: text,
  path_check: text,
  instructions_file: text,
  prompt_mode: oneOf('arg', 'flag', 'none'),
  prompt_flag: text,
  ready_delay_ms: count,
  ready_prompt_prefix: text,
  process_names: texts,
  emits_permission_warning: flag,
  accept_startup_dialogs: flag,
  env,
  network: NetworkRule,
  resume_flag: text,
  resume_style: oneOf('flag', 'subcommand'),
  resume_command: text,
  session_id_flag: text,
  fork_flag: text,
  permission_modes: map,
  option_defaults: map,
  options_schema: listOf(option),
  options_schema_merge: oneOf('replace', 'by_key'),
  supports_acp: flag,
  supports_hooks: flag,
  acp_command: text,
  acp_args: texts,
  upstream_env: table({ base_url: text, api_key: text, auth_token: text }),
  print_args: texts,
  title_model: text,
};

export const provider = table(PROVIDER_KEYS);
export const providerPatch = table({ ...PROVIDER_KEYS, env_remove: texts, _replace: flag }, { name: filled });

export const upstream = table({
  description: text,
  base_url: text,
  api_key: text,
  auth_token: text,
  base_url_env: text,
  api_key_env: text,
  auth_token_env: text,
  env,
});
