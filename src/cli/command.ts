import { Help, type Command, type Option } from 'commander';
import { connect, telling, type Api } from './api.js';
import { CliError, InterruptedError } from './errors.js';
import { EXIT } from './exit-codes.js';
import type { Io } from './io.js';
import { resolveScope, type Scope, type ScopeOptions } from './scope.js';
import { plain } from './table.js';
import { resolveTarget, type TargetOptions } from './target.js';
import { trustAuthority } from './trust.js';

/** What the action of a command works with. */
export interface Context {
  readonly io: Io;
  readonly api: Api;
  /** The city or the supervisor; may ask the API for the registered name. */
  scope(): Promise<Scope>;
}

export function withTarget(command: Command): Command {
  return command
    .option(
      '--api <url>',
      'address of the supervisor, or of several replicas with commas between (SVC_API_URL; default the one that runs in your directory, then http://127.0.0.1:8372)',
    )
    .option('--context <name>', 'the service of this name (SVC_CONTEXT; default the one of `svc context use`)')
    .option('--key-file <path>', 'file that holds an API key (SVC_API_KEY; default $SVC_DATA_DIR/admin.key)')
    .option('--ca-cert <path>', 'PEM file of a certificate authority to trust beside the usual ones (SVC_CA_CERT)');
}

export function withCity(command: Command): Command {
  return command
    .option('--city <name>', 'the city (SVC_CITY; default the city whose directory you are in)')
    .option('--no-city', 'the whole supervisor, also inside the directory of a city');
}

/** Examples under the options of `--help`. */
export function withExamples(command: Command, ...lines: readonly string[]): Command {
  return command.addHelpText('after', `\nExamples:\n${lines.map((line) => `  $ ${line}\n`).join('')}`);
}

/** The options of a command and what was typed further up (`svc --api … events`); the nearest one wins. */
export function flagsOf<T extends object>(command: Command): T {
  const flags: Record<string, unknown> = { ...command.opts() };
  const set = new Set<string>();
  for (let at: Command | null = command; at !== null; at = at.parent) {
    for (const [name, value] of Object.entries(at.opts())) {
      if (set.has(name) || at.getOptionValueSource(name) === 'default') continue;
      flags[name] = value;
      set.add(name);
    }
  }
  return flags as T;
}

/** Whom the action asks, and about which city, as far as it has come to know it. */
export interface Asked {
  readonly api: Api;
  readonly city?: string;
}

const asked = new WeakMap<Io, Asked>();

/** What the action that ran has asked; undefined where it has not come so far. A key is read once: it may come out of a pipe. */
export const askedBy = (io: Io): Asked | undefined => asked.get(io);

export function contextOf(command: Command, io: Io): Context {
  const flags = flagsOf<TargetOptions & ScopeOptions>(command);
  const target = resolveTarget(flags, io);
  trustAuthority(target, flags, io);
  const api = connect(target, io.signal, () => {
    io.asked = true;
  });
  // Which city it is about is looked up before anybody knows whether the rest of the command line is right.
  let looked = false;
  const looking = connect(target, io.signal, () => {
    looked = true;
  });
  asked.set(io, { api });
  const scope = (): Promise<Scope> =>
    resolveScope(flags, io, looking).catch((error: unknown) => {
      if (looked) io.asked = true;
      throw error;
    });
  return { io, api, scope };
}

/** The city that a person chooses who is there to be asked; undefined where nobody is, or there is none. */
async function chosenCity({ io, api }: Context): Promise<string | undefined> {
  if (io.lines === undefined) return undefined;
  const names: string[] = [];
  for await (const { name } of telling(api, api.client.items('/v0/cities', { signal: io.signal }))) names.push(name);
  if (names.length === 0) return undefined;
  io.err(`which city?\n${names.map((name, n) => `  ${n + 1}) ${plain(name)}\n`).join('')}number or name: `);
  for await (const line of io.lines(io.signal)) {
    const typed = line.trim();
    const chosen = names[Number(typed) - 1] ?? names.find((name) => name === typed);
    if (chosen === undefined) throw new CliError(`there is no city ${typed}: see \`svc city list\``, EXIT.usage);
    return chosen;
  }
  io.err('\n');
  if (io.signal.aborted) throw new InterruptedError();
  return undefined;
}

/** What the action of a command on one city works with. */
export interface CityContext<T extends object> extends Context {
  readonly city: string;
  readonly flags: T;
  /** How the command is called: `svc bead close`. */
  readonly path: string;
  /** Where it is about a city alone: what has flags for what the API calls by its own names. */
  readonly command?: Command;
}

/** @throws CliError when no city is named. */
export async function cityContextOf<T extends object>(command: Command, io: Io): Promise<CityContext<T>> {
  const context = contextOf(command, io);
  const city = (await context.scope()).city ?? (await chosenCity(context));
  if (city === undefined) throw new CliError('which city? name it with --city or SVC_CITY; `svc city list` lists them', EXIT.usage);
  asked.set(io, { api: context.api, city });
  return { ...context, city, flags: flagsOf<T>(command), path: pathOf(command), command };
}

const COMMON = new Set(['api', 'context', 'keyFile', 'caCert', 'city']);
const rank = (option: Option): number => (option.attributeName() === 'help' ? 2 : COMMON.has(option.attributeName()) ? 1 : 0);

/** A command of a family that works in one city. Its help shows its own options before those that all have. */
export function cityCommand(parent: Command, name: string, about: string): Command {
  const command = withCity(withTarget(parent.command(name).description(about)));
  return command.configureHelp({
    visibleOptions(of) {
      return Help.prototype.visibleOptions.call(this, of).sort((a, b) => rank(a) - rank(b));
    },
  });
}

export function withKey(command: Command): Command {
  return command.option('--idempotency-key <key>', 'a repeated call with the same key makes nothing new');
}

/** Headers of a mutation that takes an idempotency key. */
export function keyHeader(flags: { readonly idempotencyKey?: string }): { 'Idempotency-Key'?: string } {
  return flags.idempotencyKey === undefined ? {} : { 'Idempotency-Key': flags.idempotencyKey };
}

/** How the command is called: `svc city create`. */
export function pathOf(command: Command): string {
  const names: string[] = [];
  for (let at: Command | null = command; at !== null; at = at.parent) names.unshift(at.name());
  return names.join(' ');
}

export async function printJson(io: Io, value: unknown): Promise<void> {
  await io.out(`${JSON.stringify(value)}\n`);
}

export const collect = (value: string, before: readonly string[] | undefined): string[] => [...(before ?? []), value];
