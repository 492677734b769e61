import { randomUUID } from 'node:crypto';
import { chmodSync, mkdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { sleep } from '../../client/sleep.js';
import { CliError } from '../errors.js';
import type { Io } from '../io.js';

/** A service that somebody works with, under a name of their own. */
export interface Named {
  readonly server?: string;
  /** Where the key is; keys themselves are never kept here. */
  readonly key_file?: string;
  readonly ca_cert?: string;
  readonly city?: string;
}

export interface Contexts {
  readonly current?: string;
  readonly contexts: Readonly<Record<string, Named>>;
}

/** `$XDG_CONFIG_HOME/svc/contexts.json`, or `~/.config/svc/contexts.json`; undefined without a home. */
export function contextsFile(env: Io['env']): string | undefined {
  const home = env.XDG_CONFIG_HOME || (env.HOME ? join(env.HOME, '.config') : undefined);
  return home === undefined ? undefined : join(home, 'svc', 'contexts.json');
}

/** @throws CliError when the file is not what this client has written */
export function readContexts(env: Io['env']): Contexts {
  const file = contextsFile(env);
  if (file === undefined) return { contexts: {} };
  let text: string;
  try {
    text = readFileSync(file, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT' || (error as NodeJS.ErrnoException).code === 'ENOTDIR') return { contexts: {} };
    throw new CliError(`cannot read ${file} (${(error as NodeJS.ErrnoException).code ?? String(error)})`);
  }
  try {
    const value = JSON.parse(text) as Partial<Contexts> | null;
    if (typeof value?.contexts === 'object' && value.contexts !== null) return { ...value, contexts: value.contexts };
  } catch {
    // told below
  }
  throw new CliError(`${file} is damaged: mend it, or remove it`);
}

/** A lock that is older was left by a client that was killed: a change takes milliseconds. */
const STALE_MS = 5_000;
const LOOK_MS = 20;

/**
 * Makes of what there is something else, one client at a time, so that none takes back what another has changed. Only its owner reads and
 * writes the file. Whoever reads meanwhile has the one before. @throws CliError; what `change` throws, and then nothing is changed
 */
export async function changeContexts(env: Io['env'], change: (before: Contexts) => Contexts): Promise<void> {
  const file = contextsFile(env);
  if (file === undefined) throw new CliError('there is no home directory to keep contexts in: set HOME or XDG_CONFIG_HOME');
  mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
  const lock = `${file}.lock`;
  while (!taken(lock)) await sleep(LOOK_MS);
  try {
    const after = change(readContexts(env));
    const next = `${file}.${randomUUID()}`;
    writeFileSync(next, `${JSON.stringify(after, null, 2)}\n`, { mode: 0o600 });
    chmodSync(next, 0o600);
    renameSync(next, file);
  } finally {
    rmSync(lock, { force: true });
  }
}

/** Whether the lock is ours now; one that was left is removed. */
function taken(lock: string): boolean {
  try {
    writeFileSync(lock, '', { flag: 'wx', mode: 0o600 });
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
    const since = statSync(lock, { throwIfNoEntry: false })?.mtimeMs;
    if (since !== undefined && Date.now() - since > STALE_MS) rmSync(lock, { force: true });
    return false;
  }
}

/** The context that counts: `--context`, then `SVC_CONTEXT`, then the one in use. @throws CliError when it is not there */
export function contextInUse(io: Io, named: string | undefined): (Named & { readonly name: string }) | undefined {
  const wanted = named ?? (io.env.SVC_CONTEXT || undefined);
  const { current, contexts } = readContexts(io.env);
  const name = wanted ?? current;
  if (name === undefined) return undefined;
  if (!Object.hasOwn(contexts, name)) {
    if (wanted === undefined) return undefined;
    throw new CliError(`there is no context ${name}: see \`svc context list\``);
  }
  return { name, ...contexts[name] };
}
