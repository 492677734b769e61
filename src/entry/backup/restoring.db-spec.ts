import { chmod, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from '@jest/globals';
import { emptyDatabase, type TestDatabase } from '../../../test/support/database.js';
import type { AppConfig } from '../../platform/config/config.js';
import { epochOf, knownEpoch } from '../known-epoch.js';
import { pack, DUMP } from './archive.js';
import { withClient } from './programs.js';
import { restore } from './restoring.js';

let database: TestDatabase;
let folder: string;
let config: AppConfig;
beforeEach(async () => {
  database = await emptyDatabase();
  folder = await mkdtemp(join(tmpdir(), 'svc-restore-'));
  config = { databaseUrl: database.url, dataDir: join(folder, 'data'), citiesRoot: join(folder, 'cities') } as AppConfig;
  await mkdir(config.dataDir);
  await withClient(database.url, (client) => client.query('create table kept as select 42 as answer'));
});
afterEach(async () => {
  await database.drop();
  await rm(folder, { recursive: true, force: true });
});

async function backupOf(server: number): Promise<string> {
  const made = await mkdtemp(join(folder, 'made-'));
  await writeFile(join(made, DUMP), 'no dump');
  const file = join(folder, 'monday.tgz');
  await pack(file, made, { format: 1, database: 'dump', at: '2026-11-28T00:00:00Z', server, citiesRoot: config.citiesRoot });
  return file;
}
/** `pg_restore` is a script meanwhile. */
async function withProgram<T>(script: string, work: () => Promise<T>): Promise<T> {
  const program = join(folder, 'pg_restore');
  await writeFile(program, `#!/bin/sh\ntest "$1" = --version && echo "pg_restore (PostgreSQL) 1000" && exit\n${script}\n`);
  await chmod(program, 0o755);
  const { PATH } = process.env;
  process.env.PATH = `${folder}:${PATH}`;
  try {
    return await work();
  } finally {
    process.env.PATH = PATH;
  }
}
const kept = async (): Promise<string[]> =>
  withClient(database.url, async (client) =>
    (await client.query<{ schema: string }>(`select schemaname as schema from pg_tables where tablename = 'kept'`)).rows.map(
      ({ schema }) => schema,
    ),
  );

it('touches nothing where it could not load what it has', async () => {
  await expect(restore(config, await backupOf(99), true, () => undefined)).rejects.toThrow(/PostgreSQL 99/);
  expect(await kept()).toEqual(['public']);
});

// Guard: what is replaced is the only copy of what came after the backup.
it('moves aside what the database has, says where to, and leaves it there also when the backup cannot be loaded', async () => {
  const told: string[] = [];
  await withProgram('exit 1', async () => {
    const file = await backupOf(12);
    await expect(restore(config, file, false, () => undefined)).rejects.toThrow('the database is not empty');
    expect(await kept()).toEqual(['public']);
    await expect(restore(config, file, true, (line) => told.push(line))).rejects.toThrow('pg_restore failed');
  });
  const [schema] = await kept();
  expect(schema).toMatch(/^public_before_2026-/);
  expect(told.join('\n')).toContain(`"${schema}"`);
});

// Guard: the epochs that began after a backup are not begun again.
it('begins an epoch above the one of what it replaces, also when the backup could be loaded only later', async () => {
  await withClient(database.url, (client) => client.query('create table deployment as select 4 as epoch'));
  const file = await backupOf(12);
  await withProgram('exit 1', () => expect(restore(config, file, true, () => undefined)).rejects.toThrow('pg_restore failed'));
  expect(await epochOf(database.url)).toBe(0);
  const said = await withProgram('exit 0', () => restore(config, file, true, () => undefined));
  expect(said).toContain('the log is in epoch 5');
  expect([await epochOf(database.url), await knownEpoch(config.dataDir)]).toEqual([5, 5]);
});

it('leaves a database alone that has no tables, whatever else it has', async () => {
  await withClient(database.url, (client) => client.query('drop table kept; create view kept_view as select 1'));
  await expect(restore(config, await backupOf(99), true, () => undefined)).rejects.toThrow(/PostgreSQL 99/);
  const told: string[] = [];
  await expect(restore(config, await backupOf(12), false, (line) => told.push(line))).rejects.toThrow(/pg_restore/);
  expect(told).toEqual([]);
});
