import { readFileSync } from 'node:fs';
import { isAbsolute, join, resolve } from 'node:path';
import { CliError } from './errors.js';
import type { Io } from './io.js';

/** Which supervisor a command talks to and as whom. */
export interface Target {
  readonly url: string;
  readonly key: string | undefined;
}

export interface TargetOptions {
  readonly api?: string;
  readonly keyFile?: string;
}

const DEFAULT_PORT = '8372';

/** `--api`, then `SVC_API_URL`, then the supervisor of this machine. Needs no network. */
export function resolveTarget(options: TargetOptions, io: Io): Target {
  const url = apiUrl(options, io);
  return { url: url.href.replace(/\/+$/, ''), key: apiKey(options, io, url) };
}

function apiUrl(options: TargetOptions, io: Io): URL {
  const given = options.api ?? (io.env.SVC_API_URL || undefined);
  const source = options.api === undefined ? 'SVC_API_URL' : '--api';
  const text = given ?? `http://127.0.0.1:${io.env.SVC_PORT || DEFAULT_PORT}`;
  const url = URL.parse(text);
  if (url === null || !/^https?:$/.test(url.protocol)) {
    throw new CliError(`${given === undefined ? 'SVC_PORT' : source} does not give an http or https address: ${text}`);
  }
  if (url.username !== '' || url.password !== '')
    throw new CliError(`${source}: put the key into --key-file or SVC_API_KEY, not into the address`);
  url.search = '';
  url.hash = '';
  return url;
}

function apiKey(options: TargetOptions, io: Io, url: URL): string | undefined {
  if (options.keyFile !== undefined) {
    const key = readKey(absolute(options.keyFile, io));
    if (key === undefined) throw new CliError(`--key-file: cannot read ${options.keyFile}`);
    return checked(key, '--key-file');
  }
  if (io.env.SVC_API_KEY) return checked(io.env.SVC_API_KEY.trim(), 'SVC_API_KEY');
  // An agent's own token is for the supervisor that runs it, and shown to no other one.
  if (io.env.SVC_SESSION_TOKEN && options.api === undefined) return checked(io.env.SVC_SESSION_TOKEN.trim(), 'SVC_SESSION_TOKEN');
  // The key of the supervisor of this machine is never shown to another one.
  if (!isLoopback(url)) return undefined;
  return readKey(absolute(join(io.env.SVC_DATA_DIR || '.svc', 'admin.key'), io)) || undefined;
}

function absolute(path: string, io: Io): string {
  return isAbsolute(path) ? path : resolve(io.cwd, path);
}

function readKey(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8').trim();
  } catch {
    return undefined;
  }
}

function checked(key: string, source: string): string {
  if (!/^[\x21-\x7e]+$/.test(key)) throw new CliError(`${source} does not hold an API key`);
  return key;
}

function isLoopback(url: URL): boolean {
  return url.hostname === 'localhost' || url.hostname === '[::1]' || /^127(\.\d{1,3}){3}$/.test(url.hostname);
}
