import { closeSync, constants, fstatSync, openSync, readFileSync } from 'node:fs';
import { isAbsolute, join, resolve } from 'node:path';
import { contextInUse, type Named } from './contexts/file.js';
import { CliError } from './errors.js';
import { EXIT } from './exit-codes.js';
import type { Io } from './io.js';
import { isLoopback, localServer } from './local-server.js';
import { whyUnread } from './unread.js';

/** Which supervisor a command talks to and as whom. */
export interface Target {
  readonly url: string;
  /** Other replicas of it, which are asked when that one does not answer. */
  readonly replicas?: readonly string[];
  readonly key: string | undefined;
  /** Who has named the address, for a person who wonders: `from SVC_API_URL`. */
  readonly source: string;
  /** Where the key comes from; undefined without one. */
  readonly keySource?: KeySource | undefined;
}

export interface KeySource {
  /** `--key-file`, the name of a variable, or what kind of file. */
  readonly name: string;
  readonly file?: string;
}

interface Key extends KeySource {
  readonly key: string;
}

export interface TargetOptions {
  readonly api?: string;
  readonly keyFile?: string;
  readonly caCert?: string;
  readonly context?: string;
}

interface Address {
  readonly url: URL;
  readonly replicas?: readonly URL[];
  readonly source: string;
  /** Where the first key of the supervisor is left, when it is one of this machine. */
  readonly dataDir: string | undefined;
  /** The data directory that says so, when nobody has named it: it was found from the working directory upwards. */
  readonly cameUpon?: { readonly dataDir: string; readonly file: string };
  /** Whose key is for this address, when a context has named it. */
  readonly context?: Named | undefined;
}

const DEFAULT_PORT = '8372';
const DATA_DIR = '.svc';
const FIRST_KEY = 'admin.key';

/** `--api`, then `SVC_API_URL`, then the context in use, then the server of the data directory, then the default port of this machine. Needs no network. */
export function resolveTarget(options: TargetOptions, io: Io): Target {
  const address = addressOf(options, io);
  const found = apiKey(options, io, address);
  const [url, ...replicas] = [address.url, ...(address.replicas ?? [])].map(({ href }) => href.replace(/\/+$/, ''));
  return { url: url!, ...(replicas.length === 0 ? {} : { replicas }), key: found?.key, source: address.source, keySource: found };
}

function addressOf(options: TargetOptions, io: Io): Address {
  const dataDir = absolute(io.env.SVC_DATA_DIR || DATA_DIR, io);
  const local = (url: URL): string | undefined => (isLoopback(url) ? dataDir : undefined);
  const several = (text: string, source: string): Pick<Address, 'url' | 'replicas' | 'dataDir'> => {
    const [url, ...replicas] = addressesOf(text, source);
    return { url: url!, replicas, dataDir: replicas.length === 0 ? local(url!) : undefined };
  };
  const giver = options.api === undefined ? 'SVC_API_URL' : '--api';
  const given = options.api ?? (io.env.SVC_API_URL || undefined);
  if (given !== undefined) {
    return { ...several(given, giver), source: `from ${giver}` };
  }
  const context = contextInUse(io, options.context);
  if (context?.server !== undefined) {
    return { ...several(context.server, `context ${context.name}`), source: `from context ${context.name}`, context };
  }
  const named = io.env.SVC_DATA_DIR ? dataDir : undefined;
  const { found, passed, gone } = localServer(io.cwd, named, isAbsolute(io.env.SVC_DATA_DIR ?? ''));
  if (found !== undefined) {
    const url = parse(found.url.href, found.file);
    const own = isLoopback(url) ? found.dataDir : undefined;
    return { url, source: `found in ${found.file}`, dataDir: own, ...(named === undefined ? { cameUpon: found } : {}) };
  }
  const url = parse(`${io.env.SVC_TLS_CERT ? 'https' : 'http'}://127.0.0.1:${io.env.SVC_PORT || DEFAULT_PORT}`, 'SVC_PORT');
  const where = named === undefined ? 'in this directory' : `in ${named} (SVC_DATA_DIR)`;
  // Whoever listens there, while the server of this directory does not run, or runs elsewhere, is none that its first key is for.
  const mayBeOther = gone === true || passed !== undefined;
  return { url, source: `the default; ${passed ?? `no server runs ${where}`}`, dataDir: mayBeOther ? undefined : named };
}

/** One address, or those of several replicas with commas between. @throws CliError */
export const addressesOf = (text: string, source: string): URL[] => text.split(',').map((one) => parse(one.trim(), source));

function parse(text: string, source: string): URL {
  const url = URL.parse(text);
  if (url === null || !/^https?:$/.test(url.protocol)) throw new CliError(`${source} does not give an http or https address: ${text}`);
  if (url.username !== '' || url.password !== '')
    throw new CliError(`${source}: put the key into --key-file or SVC_API_KEY, not into the address`);
  url.search = '';
  url.hash = '';
  return url;
}

function apiKey(options: TargetOptions, io: Io, address: Address): Key | undefined {
  const { dataDir, context } = address;
  // Whoever types the command names the key for this one, also where a server was found: the environment is of another day and place.
  if (options.keyFile !== undefined) {
    const file = absolute(options.keyFile, io);
    const key = namedKey(file, (why) => `--key-file: cannot read ${options.keyFile}: ${why}`);
    return { key: checked(key, '--key-file'), name: '--key-file', file };
  }
  if (io.env.SVC_API_KEY) return fromVariable('SVC_API_KEY', io.env.SVC_API_KEY, address);
  // An agent's own token is for the supervisor that runs it, and shown to no other one.
  if (io.env.SVC_SESSION_TOKEN && options.api === undefined && context === undefined)
    return fromVariable('SVC_SESSION_TOKEN', io.env.SVC_SESSION_TOKEN, address);
  if (io.env.SVC_KEY_FILE) {
    const key = namedKey(absolute(io.env.SVC_KEY_FILE, io), (why) => `SVC_KEY_FILE: cannot read ${io.env.SVC_KEY_FILE}: ${why}`);
    return fromVariable('SVC_KEY_FILE', key, address);
  }
  if (context?.key_file !== undefined) {
    const key = namedKey(context.key_file, (why) => `cannot read the key file of the context: ${context.key_file}: ${why}`);
    return { key: checked(key, context.key_file), name: 'the context', file: context.key_file };
  }
  // The key of the supervisor of this machine is never shown to another one.
  if (dataDir === undefined) return undefined;
  const file = join(dataDir, FIRST_KEY);
  const key = io.env.SVC_DATA_DIR ? readKey(file) : keyThere(file);
  return key ? { key, name: 'the first key', file } : undefined;
}

/** A key of the environment is for the server that its owner means: an agent may have laid a file where a command was typed. */
function fromVariable(name: string, value: string, { url, cameUpon }: Address): Key {
  const key = checked(value.trim(), name);
  if (cameUpon !== undefined && keyThere(join(cameUpon.dataDir, FIRST_KEY)) !== key) {
    throw new CliError(
      `${name} is not sent to ${url.origin}, which only ${cameUpon.file} names: if it is for that server, set SVC_API_URL=${url.origin}`,
      EXIT.usage,
    );
  }
  return { key, name };
}

function absolute(path: string, io: Io): string {
  return isAbsolute(path) ? path : resolve(io.cwd, path);
}

/** A key whose file somebody has named. @throws CliError, which says why it cannot be read */
function namedKey(path: string, failure: (why: string) => string): string {
  try {
    return readFileSync(path, 'utf8').trim();
  } catch (error) {
    throw new CliError(failure(whyUnread(error as NodeJS.ErrnoException)));
  }
}

function readKey(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8').trim();
  } catch {
    return undefined;
  }
}

/**
 * The key of a directory that nobody has named. Whoever has laid it there may not know the key and still have a link to the file of the real
 * one: a file with another name or place does not count. Who owns it does not matter: whoever can write a key into it knows that one.
 */
function keyThere(file: string): string | undefined {
  let handle: number | undefined;
  try {
    handle = openSync(file, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
    const found = fstatSync(handle);
    return found.isFile() && found.nlink === 1 ? readFileSync(handle, 'utf8').trim() : undefined;
  } catch {
    return undefined;
  } finally {
    if (handle !== undefined) closeSync(handle);
  }
}

function checked(key: string, source: string): string {
  if (!/^[\x21-\x7e]+$/.test(key)) throw new CliError(`${source} does not hold an API key`);
  return key;
}
