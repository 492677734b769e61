import { writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import pg from 'pg';
import { serversOf } from '../../platform/database/servers.js';
import type { Manifest } from './archive.js';
import { connectionOf } from './libpq.js';
import { programFor, run, versionOf, withClient } from './programs.js';

type Tell = (line: string) => void;
/** Puts the content of a dump into the database at an address. */
export type Load = (url: string, tell: Tell) => Promise<void>;

/** Lines of `pg_restore --list`: number, two ids, what it is, its schema, its name, its owner. */
const EXTENSION = /^\d+; \d+ \d+ EXTENSION - (.+?) *$/;
/** What is an administrator's in a database: only he may make it, or say what it is for. */
const HIS = /^\d+; \d+ \d+ (?:EXTENSION - |COMMENT - EXTENSION |COMMENT - SCHEMA public )/;

/**
 * How a dump is loaded by an account that owns its database and nothing else. Found out before anything is touched.
 *
 * @throws Error where the program is missing, or does not get to the server at `url`, the dump is damaged, or that server is older than the one
 * that the dump is of
 */
export async function loader(url: string, { server }: Manifest, dump: string, signal?: AbortSignal): Promise<Load> {
  const current = await serversOf(url).current();
  const there = await versionOf(current);
  if (there < server) throw new Error(`the backup is of PostgreSQL ${server}, and the server is of version ${there}: it may not take it`);
  const program = await programFor('pg_restore', Math.max(there, server));
  const lines = (await run(program, ['--list', dump], { signal })).split('\n');
  const extensions = lines.flatMap((line) => EXTENSION.exec(line)?.[1] ?? []);
  const list = `${dump}.list`;
  await writeFile(list, lines.filter((line) => !HIS.test(line)).join('\n'));
  const load = async (at: string, what: string): Promise<void> => {
    const { address, env } = await connectionOf(at, dirname(dump));
    const args = ['--no-owner', '--no-privileges', '--exit-on-error', `--use-list=${what}`, `--dbname=${address}`, dump];
    await run(program, args, { env, signal });
  };
  // Nothing of it: libpq reads an address in its own way, and the list above is made without a connection.
  const nothing = `${dump}.nothing`;
  await writeFile(nothing, '');
  await load(current, nothing);
  return async (at, tell) => {
    await makeExtensions(at, extensions, tell);
    await load(at, list);
  };
}

/** Those that are missing, as far as this account may make them: nothing of the service needs one. */
async function makeExtensions(url: string, names: readonly string[], tell: Tell): Promise<void> {
  if (names.length === 0) return;
  await withClient(url, async (client) => {
    for (const name of names)
      await client.query(`create extension if not exists ${client.escapeIdentifier(name)}`).catch((error: Error) => {
        if (!(error instanceof pg.DatabaseError)) throw error;
        tell(`the extension ${name} of the backup is not in this database: ${error.message}`);
      });
  });
}
