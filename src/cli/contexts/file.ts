import { randomUUID } from 'node:crypto';
import { chmodSync, linkSync, mkdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { sleep } from '../../client/sleep.js';
import { CliError, InterruptedError } from '../errors.js';
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
function contextsFile(env: Io['env']): string | undefined {
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

/** A lock that is older, or lies as far ahead, was left by a client that was killed: a change takes milliseconds. */
const STALE_MS = 5_000;
const LOOK_MS = 20;
/** Longer than a lock can be in the way that was left. */
const WAIT_MS = 10_000;

/**
 * Makes of what there is something else, one client at a time, so that none takes back what another has changed. Only its owner reads and
 * writes the file. Whoever reads meanwhile has the one before. @throws CliError, after 10 s of waiting for others, too; InterruptedError;
 * what `change` throws. Then nothing is changed
 */
export async function changeContexts({ env, signal }: Pick<Io, 'env' | 'signal'>, change: (before: Contexts) => Contexts): Promise<void> {
  const file = contextsFile(env);
  if (file === undefined) throw new CliError('there is no home directory to keep contexts in: set HOME or XDG_CONFIG_HOME');
  mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
  const lock = `${file}.lock`;
  await take(lock, signal);
  const next = `${file}.${randomUUID()}`;
  try {
    const after = change(readContexts(env));
    writeFileSync(next, `${JSON.stringify(after, null, 2)}\n`, { mode: 0o600 });
    chmodSync(next, 0o600);
    renameSync(next, file);
  } finally {
    rmSync(next, { force: true });
    rmSync(lock, { force: true });
  }
}

async function take(lock: string, signal: AbortSignal): Promise<void> {
  const until = performance.now() + WAIT_MS;
  while (!taken(lock)) {
    if (signal.aborted) throw new InterruptedError();
    if (performance.now() >= until)
      throw new CliError(`another client changes the contexts all the time: if there is none, remove ${lock}`);
    await sleep(LOOK_MS, signal);
  }
}

/** Whether the lock is ours now; one that was left is removed. */
function taken(lock: string): boolean {
  try {
    writeFileSync(lock, '', { flag: 'wx', mode: 0o600 });
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
    if (isStale(lock)) breakLock(lock);
    return false;
  }
}

function isStale(lock: string): boolean {
  const since = statSync(lock, { throwIfNoEntry: false })?.mtimeMs;
  return since !== undefined && Math.abs(Date.now() - since) > STALE_MS;
}

/**
 * Removes a lock that was left, and none that somebody else, who has removed that before, has taken since: of those who move it away one
 * has it, and looks at what it has.
 */
export function breakLock(lock: string): void {
  const broken = `${lock}.${randomUUID()}`;
  try {
    renameSync(lock, broken);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return;
    throw error;
  }
  try {
    if (!isStale(broken)) giveBack(broken, lock);
  } finally {
    rmSync(broken, { force: true });
  }
}

/** Where a third one has taken it in this moment, it stays with that. */
function giveBack(broken: string, lock: string): void {
  try {
    linkSync(broken, lock);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
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
