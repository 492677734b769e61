import { readFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import { parseDuration } from '../contract/duration.js';
import type { Schemas } from './api.js';
import { CliError } from './errors.js';
import { EXIT } from './exit-codes.js';
import type { Io } from './io.js';
import { whyUnread } from './unread.js';

/** The command line is wrong, whatever was read before that was seen. */
const wrong = (message: string): CliError => new CliError(message, EXIT.usage);

/** The members that were given. */
export const defined = <T extends object>(values: T): { [K in keyof T]?: Exclude<T[K], undefined> } =>
  Object.fromEntries(Object.entries(values).filter(([, value]) => value !== undefined)) as { [K in keyof T]?: Exclude<T[K], undefined> };

/** A whole number that is not negative. @throws CliError */
export function numberOf(flag: string, text: string): number {
  if (!/^\d{1,15}$/.test(text)) throw wrong(`${flag}: not a whole number: ${text}`);
  return Number(text);
}

/** `key=value` pairs; an empty value is one. @throws CliError */
export function pairsOf(flag: string, texts: readonly string[] | undefined): Record<string, string> | undefined {
  if (texts === undefined) return undefined;
  return Object.fromEntries(
    texts.map((text) => {
      const at = text.indexOf('=');
      if (at <= 0) throw wrong(`${flag}: expected <key>=<value>: ${text}`);
      return [text.slice(0, at), text.slice(at + 1)];
    }),
  );
}

/**
 * `NAME=value` pairs of an environment; `NAME` alone takes the value from the environment of this process, where the list
 * of processes does not show it.
 *
 * @throws CliError
 */
export function environmentOf(flag: string, texts: readonly string[] | undefined, io: Io): Record<string, string> | undefined {
  const full = texts?.map((text) => {
    if (text.includes('=')) return text;
    const value = io.env[text];
    if (value === undefined) throw wrong(`${flag}: ${text} is not set here: write ${text}=<value> or set it`);
    return `${text}=${value}`;
  });
  return pairsOf(flag, full);
}

/** A file of this machine as text; `-` is stdin. What is no flag (`<file>`) needs no name beside the file's own. @throws CliError */
export async function readText(flag: string, file: string, io: Io): Promise<string> {
  if (file === '-') return io.input();
  return readFile(resolve(io.cwd, file), 'utf8').catch((error: NodeJS.ErrnoException) => {
    throw wrong(`${flag.startsWith('-') ? `${flag}: ` : ''}cannot read ${file}: ${whyUnread(error)}`);
  });
}

const DATE = /^\d{4}-\d{2}-\d{2}$/;

/** Milliseconds of a duration. @throws CliError */
export function spanOf(flag: string, text: string): number {
  const ms = parseDuration(text);
  if (ms === undefined) throw wrong(`${flag}: not a duration: ${text} (write it like 30m, 12h or 7d)`);
  return ms;
}

/** A duration for the API. @throws CliError */
export function durationText(flag: string, text: string): string {
  const ms = parseDuration(text);
  if (ms === undefined || ms <= 0) throw wrong(`${flag}: not a duration above zero: ${text} (write it like 30m, 12h or 7d)`);
  return text;
}

/**
 * An instant: RFC 3339, a date (its beginning, UTC), or a duration counted from now, `ahead` or back.
 *
 * @throws CliError
 */
export function instantOf(flag: string, text: string, ahead: boolean, now = Date.now()): string {
  const ms = parseDuration(text);
  if (ms !== undefined) return instant(flag, text, now + (ahead ? ms : -ms));
  if (DATE.test(text) || /^\d{4}-\d{2}-\d{2}T.+(Z|[+-]\d{2}:\d{2})$/i.test(text)) return instant(flag, text, Date.parse(text));
  return instant(flag, text, NaN);
}

/** A time that is past, for the API: a duration stays one, which the server counts back by its own clock. @throws CliError */
export function pastOf(flag: string, text: string): string {
  const instant = instantOf(flag, text, false);
  return parseDuration(text) === undefined ? instant : text;
}

/**
 * An instant of a call that has an idempotency key: not a duration, with which the call would be another one when it is repeated.
 *
 * @throws CliError
 */
export function timeOf(flag: string, text: string): string {
  if (parseDuration(text) !== undefined) throw wrong(`${flag}: with --idempotency-key give a time instead of a duration`);
  return instantOf(flag, text, true);
}

function instant(flag: string, text: string, ms: number): string {
  const date = new Date(ms);
  if (Number.isNaN(date.getTime())) throw wrong(`${flag}: not a time: ${text} (write 2026-03-01, 2026-03-01T09:00:00Z, 2h or 7d)`);
  return date.toISOString();
}

export const NETWORK = 'what its agents reach: all, api (this API alone), or hosts beside it: api.example.com,*.example.org';

/** What `--network` says: everything, the API alone, or hosts. @throws CliError where none is named */
export function networkOf(text: string | undefined): Schemas['NetworkRule'] | undefined {
  if (text === undefined || text === 'all' || text === 'api') return text;
  const hosts = text
    .split(',')
    .map((host) => host.trim())
    .filter((host) => host !== '');
  if (hosts.length === 0) throw wrong('--network: no host is named; `api` means this API alone');
  return hosts;
}

/** A text that was typed, or read from a file (`-` is stdin). @throws CliError */
export async function textOf(name: string, typed: string | undefined, file: string | undefined, io: Io): Promise<string | undefined> {
  if (file === undefined) return typed;
  if (typed !== undefined) throw wrong(`--${name} and --${name}-file are mutually exclusive`);
  return readText(`--${name}-file`, file, io);
}
