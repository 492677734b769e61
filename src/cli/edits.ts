import type { Command } from 'commander';
import { printJson, type CityContext } from './command.js';
import { CliError } from './errors.js';
import type { Io } from './io.js';
import { plain } from './table.js';
import { numberOf } from './values.js';

/** `what` has revisions: `the bead`, `the configuration`. */
export function withIfMatch(command: Command, what: string): Command {
  return command.option('--if-match <revision>', `only when ${what} is still at this revision`);
}

/** Headers of a mutation on one revision. @throws CliError with `rule` for several things at one revision */
export function matchHeader(
  flags: { readonly ifMatch?: string },
  names: readonly string[],
  rule = '--if-match is good for one change: name only one',
): { 'If-Match'?: string } {
  if (flags.ifMatch === undefined) return {};
  if (names.length > 1) throw new CliError(rule);
  return { 'If-Match': `"${numberOf('--if-match', flags.ifMatch)}"` };
}

/** An answer, which may warn of something. */
type Told = object & { readonly warnings?: readonly string[] };

/** The answer as it is with `--json`, else a line about what was done. */
export async function answered(io: Io, flags: { readonly json?: boolean }, data: Told, line: string): Promise<void> {
  if (flags.json === true) return printJson(io, data);
  await io.out(`${plain(line)}\n`);
  warn(io, data);
}

/** Tells on stderr what an answer warns of. */
export function warn(io: Io, { warnings = [] }: { readonly warnings?: readonly string[] }): void {
  for (const warning of warnings) io.err(`warning: ${plain(warning)}\n`);
}

/** Tells that something was done to what has this name: a line, or the answer with the name. */
export function told(context: CityContext<{ readonly json?: boolean }>, name: string, data: Told, line: string): Promise<void> {
  const named: Told & { readonly name: string } = { name, ...data };
  return answered(context.io, context.flags, named, `${name} ${line}`);
}

/** A name that becomes one segment of an address. @throws CliError when an address cannot hold it */
export function nameOf(what: string, name: string): string {
  if (name === '' || name === '.' || name === '..') throw new CliError(`not the name of ${what}: ${name === '' ? 'it is empty' : name}`);
  return name;
}

/** @throws CliError when a change changes nothing */
export function requireChange(body: object): void {
  if (Object.keys(body).length === 0) throw new CliError('nothing to change: name at least one option');
}
