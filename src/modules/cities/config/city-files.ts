import { createHash } from 'node:crypto';
import { open, readdir, realpath, stat } from 'node:fs/promises';
import path from 'node:path';
import { parse, TomlError } from 'smol-toml';
import { errnoOf, isBelow } from '../city-directory.js';
import { InitFailure } from './failure.js';

/**
 * Reading a city's own files. They belong to people and agents, so nothing about them is trusted: a link out of the
 * city, an endless file or a device is refused, and an error never repeats what a file holds.
 */
const MAX_FILE_BYTES = 1024 * 1024;
const MAX_ENTRIES = 2_000;

const ABSENT = new Set(['ENOENT', 'ENOTDIR']);

/** The text of a file inside the city; undefined when there is none. `code` is the failure's error code. */
export async function readText(dir: string, relative: string, code: string): Promise<string | undefined> {
  try {
    const real = await realpath(path.join(dir, relative));
    if (!isBelow(dir, real)) throw new InitFailure(code, `${relative} leads out of the city`);
    if (!(await stat(real)).isFile()) throw new InitFailure(code, `${relative} is not a file`);
    const handle = await open(real, 'r');
    try {
      const buffer = Buffer.alloc(MAX_FILE_BYTES + 1);
      let length = 0;
      for (;;) {
        const { bytesRead } = await handle.read(buffer, length, buffer.length - length, length);
        length += bytesRead;
        if (length > MAX_FILE_BYTES) throw new InitFailure(code, `${relative} is larger than 1 MiB`);
        if (bytesRead === 0) return buffer.toString('utf8', 0, length);
      }
    } finally {
      await handle.close();
    }
  } catch (error) {
    if (ABSENT.has(errnoOf(error) ?? '')) return undefined;
    throw asFailure(error, relative, code);
  }
}

/** A parsed TOML file; undefined when there is none. */
export async function readToml(dir: string, relative: string, code: string): Promise<Record<string, unknown> | undefined> {
  const text = await readText(dir, relative, code);
  if (text === undefined) return undefined;
  try {
    return parse(text);
  } catch (error) {
    if (!(error instanceof TomlError)) throw error;
    // Only the first line of the message: the rest quotes the file.
    const why = (error.message.split('\n')[0] ?? '').replace(/^Invalid TOML document: /, '');
    throw new InitFailure(code, `${relative}:${error.line}:${error.column}: ${why}`, 'structural', { cause: error });
  }
}

export interface Entry {
  readonly name: string;
  readonly directory: boolean;
}

/** What lies in a directory of the city, sorted; empty when there is none. Hidden and `_` names are left out. */
export async function listEntries(dir: string, relative: string, code: string): Promise<Entry[]> {
  try {
    const found = await readdir(path.join(dir, relative), { withFileTypes: true });
    if (found.length > MAX_ENTRIES) throw new InitFailure(code, `${relative} holds more than ${MAX_ENTRIES} entries`);
    const entries = found.filter((entry) => !/^[._]/.test(entry.name));
    return entries.map((entry) => ({ name: entry.name, directory: entry.isDirectory() })).sort((a, b) => (a.name < b.name ? -1 : 1));
  } catch (error) {
    if (ABSENT.has(errnoOf(error) ?? '')) return [];
    throw asFailure(error, relative, code);
  }
}

function asFailure(error: unknown, relative: string, code: string): unknown {
  const errno = errnoOf(error);
  if (error instanceof InitFailure || errno === undefined) return error;
  return new InitFailure(code, `${relative} cannot be read (${errno})`, 'transient', { cause: error });
}

/**
 * A hash of everything an initialization reads: it changes when a failed city is worth another try. Never fails;
 * what cannot be read goes in as such.
 */
export async function configHash(dir: string): Promise<string> {
  const hash = createHash('sha256');
  const add = async (relative: string): Promise<void> => {
    const content = await readText(dir, relative, '').catch((error: unknown) => String(error));
    hash.update(`${relative}\0${content === undefined ? '-' : `+${content}`}\0`);
  };
  const list = (relative: string): Promise<Entry[]> => listEntries(dir, relative, '').catch(() => []);
  await add('city.toml');
  await add('pack.toml');
  for (const entry of await list('formulas')) if (!entry.directory && entry.name.endsWith('.toml')) await add(`formulas/${entry.name}`);
  for (const agent of await list('agents')) {
    if (!agent.directory) continue;
    for (const file of await list(`agents/${agent.name}`)) if (!file.directory) await add(`agents/${agent.name}/${file.name}`);
  }
  return hash.digest('hex');
}
