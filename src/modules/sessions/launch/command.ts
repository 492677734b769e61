import type { SessionRow } from '../session-store/session-row.js';
import { flagArguments } from './chosen-options.js';
import type { Template } from './launch.js';

export interface Command {
  readonly command: string;
  readonly args: readonly string[];
}

/** What only a shell understands: quotes, expansions, several words. */
const SHELL = /[\s;&|<>$`'"\\(){}*?!~#]/;

/**
 * The program of a session without anything of a host in it: names are not resolved, so that it is the same everywhere.
 * A terminal's program gets what makes it go on with its conversation; other transports have words of their own for that.
 */
export function commandOf(
  template: Template,
  options: Readonly<Record<string, string>>,
  sessionKey: SessionRow['session_key'] = null,
): Command {
  const { spec, transport } = template;
  const { command, args } = programOf(template);
  if (transport === 'acp') {
    const replaced = spec.acp_command !== undefined || spec.acp_args !== undefined;
    // The arguments of options belong to the ordinary program; another one is told over the protocol.
    return argv(command, replaced ? args : [...args, ...flagArguments(template, options)]);
  }
  const resumed = transport === 'pty' && sessionKey !== null ? resume(template, sessionKey) : { before: [], after: [] };
  return argv(command, [...resumed.before, ...args, ...flagArguments(template, options), ...resumed.after]);
}

/** The command as the files have it: nothing of options, conversations or shells is in it. */
export function programOf({ spec, agent, transport }: Template): Command {
  const args = (agent?.args as readonly string[] | undefined) ?? spec.args ?? [];
  if (transport === 'acp')
    return {
      command: (spec.acp_command as string | undefined) ?? spec.command ?? '',
      args: (spec.acp_args as readonly string[] | undefined) ?? args,
    };
  return { command: spec.command?.startsWith('exec:') === true ? '' : (spec.command ?? ''), args };
}

function resume({ spec }: Template, key: string): { before: string[]; after: string[] } {
  const flag = spec.resume_flag as string | undefined;
  if (flag === undefined || flag === '') return { before: [], after: [] };
  if (spec.resume_style === 'subcommand') return { before: [...flag.split(' '), key], after: [] };
  return { before: [], after: [flag, key] };
}

function argv(command: string, args: readonly string[]): Command {
  if (!SHELL.test(command)) return { command, args };
  return { command: '/bin/sh', args: ['-c', `${command}${args.length === 0 ? '' : ' "$@"'}`, 'sh', ...args] };
}

/** One line that a shell takes apart into the same words. */
export function commandLine({ command, args }: Command): string {
  return command === '' ? '' : [command, ...args].map(quoted).join(' ');
}

function quoted(word: string): string {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`;
}
