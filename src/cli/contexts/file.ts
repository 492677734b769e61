import { chmodSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
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

/** Only its owner reads and writes it. Whoever reads meanwhile has the one before. */
export function writeContexts(env: Io['env'], contexts: Contexts): void {
  const file = contextsFile(env);
  if (file === undefined) throw new CliError('there is no home directory to keep contexts in: set HOME or XDG_CONFIG_HOME');
  mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
  const next = `${file}.${process.pid}`;
  writeFileSync(next, `${JSON.stringify(contexts, null, 2)}\n`, { mode: 0o600 });
  chmodSync(next, 0o600);
  renameSync(next, file);
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
