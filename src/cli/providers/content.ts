import { Option, type Command } from 'commander';
import { parseDuration } from '../../contract/duration.js';
import type { Schemas } from '../api.js';
import { collect } from '../command.js';
import { CliError } from '../errors.js';
import type { Io } from '../io.js';
import { defined, environmentOf, NETWORK, networkOf, pairsOf } from '../values.js';

/** The flags that defining and changing a provider have in common. */
export interface ContentFlags {
  readonly base?: string;
  readonly command?: string;
  readonly arg?: readonly string[];
  readonly addArg?: readonly string[];
  readonly acpCommand?: string;
  readonly acpArg?: readonly string[];
  readonly displayName?: string;
  readonly promptMode?: 'arg' | 'flag' | 'none';
  readonly promptFlag?: string;
  readonly readyDelay?: string;
  readonly env?: readonly string[];
  readonly option?: readonly string[];
  readonly network?: string;
  readonly optionsSchemaMerge?: 'replace' | 'by_key';
  /** False for `--no-…`. */
  readonly args?: boolean;
  readonly addedArgs?: boolean;
  readonly acpArgs?: boolean;
}

export const withContent = (command: Command): Command =>
  command
    .option('--base <name>', 'inherit from this provider: `claude`, `builtin:claude`')
    .option('--command <command>', 'what is started')
    .option('--arg <arg>', 'its arguments; repeatable, write --arg=--flag', collect)
    .option('--add-arg <arg>', 'arguments behind the inherited ones; repeatable', collect)
    .option('--acp-command <command>', 'what is started to speak ACP')
    .option('--acp-arg <arg>', 'its arguments; repeatable', collect)
    .option('--display-name <name>', 'what it is called')
    .addOption(new Option('--prompt-mode <mode>', 'how the prompt is handed over').choices(['arg', 'flag', 'none']))
    .option('--prompt-flag <flag>', 'the flag of --prompt-mode flag')
    .option('--ready-delay <duration>', 'how long it takes to be ready')
    .option('--env <name=value>', 'set this variable; the name alone takes the value from here; repeatable', collect)
    .option('--option <key=value>', 'choose this of its options; repeatable', collect)
    .option('--network <hosts>', NETWORK)
    .addOption(new Option('--options-schema-merge <how>', 'how its options go with inherited ones').choices(['replace', 'by_key']));

/** Options of a change that empty a list. */
export const withEmpty = (command: Command): Command =>
  command
    .option('--no-args', 'without arguments')
    .option('--no-added-args', 'without arguments behind the inherited ones')
    .option('--no-acp-args', 'without arguments to speak ACP');

const MAX_MS = 3_600_000;

function delay(text: string): number {
  const ms = parseDuration(text);
  if (ms === undefined || ms < 0 || ms > MAX_MS)
    throw new CliError(`--ready-delay: not a duration up to an hour: ${text} (write it like 800ms or 2s)`);
  return Math.round(ms);
}

function words(flag: string, none: string, given: readonly string[] | undefined, kept: boolean | undefined): string[] | undefined {
  if (kept !== false) return given && [...given];
  if (given !== undefined) throw new CliError(`--${flag} fills the list that --no-${none} empties: give one of them`);
  return [];
}

/** The members of a body that those flags make. @throws CliError */
export function contentOf(flags: ContentFlags, io: Io): Schemas['ProviderUpdateInputBody'] {
  return defined({
    base: flags.base,
    command: flags.command,
    args: words('arg', 'args', flags.arg, flags.args),
    args_append: words('add-arg', 'added-args', flags.addArg, flags.addedArgs),
    acp_command: flags.acpCommand,
    acp_args: words('acp-arg', 'acp-args', flags.acpArg, flags.acpArgs),
    display_name: flags.displayName,
    prompt_mode: flags.promptMode,
    prompt_flag: flags.promptFlag,
    ready_delay_ms: flags.readyDelay === undefined ? undefined : delay(flags.readyDelay),
    env: environmentOf('--env', flags.env, io),
    option_defaults: pairsOf('--option', flags.option),
    options_schema_merge: flags.optionsSchemaMerge,
    network: networkOf(flags.network),
  });
}
