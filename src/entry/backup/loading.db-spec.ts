import { chmod, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from '@jest/globals';
import { emptyDatabase, type TestDatabase } from '../../../test/support/database.js';
import type { AppConfig } from '../../platform/config/config.js';
import { DUMP, pack } from './archive.js';
import { withClient } from './programs.js';
import { restore } from './restoring.js';

/** A pg_restore that reads addresses as libpq does. */
const PROGRAM = `#!/bin/sh
case "$1" in
--version) echo "pg_restore (PostgreSQL) 1000"; exit;;
--list) exit;;
esac
case "$*" in *uselibpqcompat*|*nonsense*) echo "invalid URI query parameter" >&2; exit 1;; esac
`;

let database: TestDatabase;
let folder: string;
const { PATH } = process.env;
beforeEach(async () => {
  database = await emptyDatabase();
  folder = await mkdtemp(join(tmpdir(), 'svc-loading-'));
  await mkdir(join(folder, 'data'));
  await writeFile(join(folder, 'pg_restore'), PROGRAM);
  await chmod(join(folder, 'pg_restore'), 0o755);
  process.env.PATH = `${folder}:${PATH}`;
  await withClient(database.url, (client) => client.query('create table kept as select 42 as answer'));
});
afterEach(async () => {
  process.env.PATH = PATH;
  await database.drop();
  await rm(folder, { recursive: true, force: true });
});

/** Restores an empty dump to the database at its address with this behind it; answers what was told. */
async function restoreTo(more: string): Promise<string> {
  const citiesRoot = join(folder, 'cities');
  const config = { databaseUrl: `${database.url}${more}`, dataDir: join(folder, 'data'), citiesRoot } as AppConfig;
  const [made, file] = [await mkdtemp(join(folder, 'made-')), join(folder, 'monday.tgz')];
  await writeFile(join(made, DUMP), '');
  await pack(file, made, { format: 1, database: 'dump', at: '2026-11-28T00:00:00Z', server: 12, citiesRoot });
  const told: string[] = [];
  await restore(config, file, true, (line) => told.push(line)).catch((error: Error) => told.push(error.message));
  return told.join('\n');
}
const isThere = async (): Promise<boolean> =>
  withClient(
    database.url,
    async (client) => (await client.query(`select from pg_tables where tablename = 'kept' and schemaname = 'public'`)).rowCount === 1,
  );

// Guard: the driver had got there, and what was there was aside when libpq did not.
it('is found out to have no way to the server before anything is touched', async () => {
  expect(await restoreTo('?nonsense=1')).toMatch(/pg_restore failed \(1\):\ninvalid URI query parameter$/);
  expect(await isThere()).toBe(true);
});

it('goes to an address that only the driver reads', async () => {
  expect(await restoreTo('?uselibpqcompat=true&sslmode=disable')).toContain('the schema public is now');
  expect(await isThere()).toBe(false);
});
