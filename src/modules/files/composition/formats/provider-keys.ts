import { z } from 'zod';
import { NetworkRule } from '../../../../contract/network.js';
import { count, env, filled, flag, idle, key, listOf, map, oneOf, table, text, texts } from './values.js';

const choice = table(
  {
    label: key(text, 'What people see.'),
    flag_args: key(texts, 'Arguments that it adds.'),
    flag_aliases: key(z.array(texts), 'Other spellings of these arguments, found in `args`.'),
  },
  { value: key(text, 'What is chosen.') },
);
const option = table(
  {
    label: key(text, 'What people see.'),
    type: key(oneOf('select'), 'One of several.'),
    default: key(text, 'The choice that holds when nobody chooses.'),
    choices: key(listOf(choice), 'What can be chosen.'),
    omit: key(flag, 'Takes the option of the base away.', false),
  },
  { key: key(filled, 'What it is called, such as `model`.') },
);

const PROVIDER_KEYS = {
  base: key(text, 'What it is made of: `builtin:` and a preset, or `provider:` and another of the city.'),
  command: key(text, 'The program of a session in a terminal, or `exec:` and a script.'),
  args: key(texts, 'Its arguments, instead of those of the base.'),
  args_append: key(texts, 'Arguments after those.'),
  display_name: key(text, 'What people see.'),
  path_check: idle(text, 'Program that has to be on the path.'),
  instructions_file: idle(text, 'File that the program reads its instructions from.'),
  prompt_mode: idle(oneOf('arg', 'flag', 'none'), 'How a program in a terminal is given its prompt.'),
  prompt_flag: idle(text, 'The flag for `prompt_mode = "flag"`.'),
  ready_delay_ms: key(count, 'How long a program is given after its start until it is ready, in milliseconds.'),
  ready_prompt_prefix: key(text, 'What its input line begins with: it is ready when that shows.'),
  process_names: key(texts, 'Names of its processes, for scripts of `exec:`.'),
  emits_permission_warning: idle(flag, 'Says that it warns about permissions when it starts.'),
  accept_startup_dialogs: idle(flag, 'Whether questions at its start are answered.'),
  env: key(env, 'Variables of its sessions, over those of the city. `$NAME` is one of the worker.'),
  network: key(NetworkRule, 'What its sessions reach beside what the city allows: `all`, `api`, or a list of hosts.'),
  resume_flag: key(text, 'What goes on with a conversation, before its id; for programs in a terminal.'),
  resume_style: key(
    oneOf('flag', 'subcommand'),
    'Whether `resume_flag` comes after the arguments of the program or right after its name.',
    'flag',
  ),
  resume_command: key(text, 'Needed where a command of your own wraps a base that resumes by a subcommand.'),
  session_id_flag: idle(text, 'Flag that gives a conversation its id.'),
  fork_flag: idle(text, 'Flag that begins a copy of a conversation.'),
  permission_modes: key(map, 'Arguments by mode of permission, as clients see them.'),
  option_defaults: key(map, 'Options that hold unless an agent or a session says otherwise.'),
  options_schema: key(listOf(option), 'Options that it has, beside those of its base or instead of them.'),
  options_schema_merge: key(
    oneOf('replace', 'by_key'),
    '`by_key`: options of the base stay where this one has none of the key.',
    'replace',
  ),
  supports_acp: key(flag, 'Whether its program speaks the Agent Client Protocol.'),
  supports_hooks: idle(flag, 'Whether its program runs hooks.'),
  acp_command: key(text, 'The program that speaks ACP, where that is another one than `command`.'),
  acp_args: key(texts, 'Its arguments.'),
  upstream_env: key(
    table({
      base_url: key(text, 'Variable for the address.'),
      api_key: key(text, 'Variable for the key.'),
      auth_token: key(text, 'Variable for the token.'),
    }),
    'Variables in which its program is told of an upstream.',
  ),
  print_args: idle(texts, 'Arguments for one answer without a conversation.'),
  title_model: idle(text, 'Model that titles are made with.'),
};

export const provider = table(PROVIDER_KEYS);
export const providerPatch = table(
  {
    ...PROVIDER_KEYS,
    env_remove: key(texts, 'Variables that it no longer sets.'),
    _replace: key(flag, 'The patch stands instead of the provider, not over it.', false),
  },
  { name: key(filled, 'The provider that is changed.') },
);

export const upstream = table({
  description: key(text, 'What it is.'),
  base_url: key(text, 'Address that calls go to.'),
  api_key: key(text, 'Its key; `$NAME` is a variable of the worker, so that the key is in no file.'),
  auth_token: key(text, 'Its token, likewise.'),
  base_url_env: key(text, 'Variable for the address, instead of the one that the provider names.'),
  api_key_env: key(text, 'Variable for the key.'),
  auth_token_env: key(text, 'Variable for the token.'),
  env: key(env, 'Further variables.'),
});
