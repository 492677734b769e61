import { mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { Argument, type Command } from 'commander';
import { contextOf, flagsOf, withCity, withExamples, withTarget } from './command.js';
import { readContexts } from './contexts/file.js';
import { harmlessLine } from './harmless.js';
import type { Io } from './io.js';
import { NAMED, namedOf, type Kind, type Named } from './names.js';

/** What shells complete by name. */
const KINDS: readonly NameKind[] = [...NAMED, 'contexts'];
export type NameKind = Kind | 'contexts';

/** Nobody waits longer for a key that was pressed. */
const LIMIT_MS = 800;
const FRESH_MS = 5_000;

/** Asked by completion scripts: a name a line, what it is behind a tab. Says nothing when it does not know, and never fails. */
export function addNames(program: Command, io: Io): void {
  const names = withCity(withTarget(program.command('names', { hidden: true }).description('print names, for the completion of shells')))
    .addArgument(new Argument('<kind>', 'what kind of thing').choices(KINDS))
    .argument('[typed...]', 'the command line so far, whose --city, --api, --context and --key-file count')
    .allowUnknownOption();
  withExamples(names, 'svc names beads svc bead show --city alpha');
  names.action(async (kind: NameKind, typed: string[], _options, action: Command) => {
    const found = await namesOf(kind, { ...flagsOf<Record<string, string>>(action), ...flagsIn(typed) }, io, action).catch(() => []);
    const safe = found.filter(([name]) => SAFE.test(name));
    await io.out(safe.map(([name, about]) => `${name}\t${harmlessLine(about).slice(0, ABOUT)}\n`).join(''));
  });
}

/** Names come from other people, and a shell would carry out what some of them say: those are left to be typed. */
const SAFE = /^[\w./:@+,=-]{1,255}$/;
const ABOUT = 80;

const FLAGS: Readonly<Record<string, string>> = {
  '--city': 'city',
  '-c': 'city',
  '--api': 'api',
  '--context': 'context',
  '--key-file': 'keyFile',
  '--ca-cert': 'caCert',
};

/** The flags among what was typed; the last one may still be typed. */
function flagsIn(typed: readonly string[]): Record<string, string> {
  const flags: Record<string, string> = {};
  typed.forEach((word, at) => {
    const [flag = '', inline] = word.split('=', 2);
    const name = FLAGS[flag];
    const value = inline ?? typed[at + 1];
    if (name !== undefined && value !== undefined && value !== '') flags[name] = value;
  });
  return flags;
}

async function namesOf(kind: NameKind, flags: Record<string, string>, io: Io, action: Command): Promise<readonly Named[]> {
  if (kind === 'contexts') return Object.entries(readContexts(io.env).contexts).map(([name, { server = '' }]) => [name, server]);
  for (const [name, value] of Object.entries(flags)) action.setOptionValueWithSource(name, value, 'cli');
  const limit = AbortSignal.any([io.signal, AbortSignal.timeout(LIMIT_MS)]);
  const context = contextOf(action, { ...plainIo(io), signal: limit });
  const { api } = context;
  const { city } = kind === 'cities' || kind === 'keys' ? { city: '' } : await context.scope();
  if (city === undefined) return [];
  const key = [api.url, city, kind].join(' ');
  const file = cacheFile(io);
  const kept = file === undefined ? undefined : read(file)[key];
  if (kept !== undefined && Date.now() - kept.at < FRESH_MS && kept.at <= Date.now()) return kept.names;
  const names = await namedOf(api, city, kind, limit);
  if (file !== undefined) keep(file, key, names);
  return names;
}

/** Another signal, with everything else as it is. */
function plainIo(io: Io): Io {
  const { env, cwd, interactive, colour, columns, width, height, lines } = io;
  return {
    env,
    cwd,
    interactive,
    colour,
    columns,
    width,
    height,
    lines,
    signal: io.signal,
    input: () => io.input(),
    out: (text) => io.out(text),
    err: () => undefined,
  };
}

type Kept = Readonly<Record<string, { readonly at: number; readonly names: readonly Named[] }>>;

function cacheFile({ env }: Io): string | undefined {
  const home = env.XDG_CACHE_HOME || (env.HOME ? join(env.HOME, '.cache') : undefined);
  return home === undefined ? undefined : join(home, 'svc', 'names.json');
}

function read(file: string): Kept {
  try {
    return JSON.parse(readFileSync(file, 'utf8')) as Kept;
  } catch {
    return {};
  }
}

/** Only its owner reads it. What has grown old is left out. */
function keep(file: string, key: string, names: readonly Named[]): void {
  const now = Date.now();
  const fresh = Object.entries(read(file)).filter(([, { at }]) => now - at < FRESH_MS);
  try {
    mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
    writeFileSync(`${file}.${process.pid}`, JSON.stringify({ ...Object.fromEntries(fresh), [key]: { at: now, names } }), { mode: 0o600 });
    renameSync(`${file}.${process.pid}`, file);
  } catch {
    // Without a cache it is asked again.
  }
}
