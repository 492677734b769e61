import { randomBytes } from 'node:crypto';
import { chmod, mkdir, mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import pg from 'pg';
import { admin, adminAt, emptyDatabase, type TestDatabase } from '../../../test/support/database.js';
import type { AppConfig } from '../../platform/config/config.js';
import { epochOf, knownEpoch } from '../known-epoch.js';
import { citiesOf, DUMP, KEY, MANIFEST, unpack } from './archive.js';
import { backUp } from './backing-up.js';
import { connectionOf } from './libpq.js';
import { run, withClient } from './programs.js';
import { restore } from './restoring.js';
import { packedDump, withPgRestore } from './testing/dumps.js';

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

const backupOf = (server: number, cities: { cities?: string } = {}): Promise<string> => packedDump(folder, config, server, cities);
/** Of cities that its archive does not have. */
async function archived({ withKey = false, withCities = false } = {}): Promise<string> {
  const made = await mkdtemp(join(folder, 'made-'));
  await writeFile(join(made, DUMP), 'no dump');
  const says = {
    format: 1,
    database: 'dump',
    at: '2026-11-28T00:00:00Z',
    server: 12,
    citiesRoot: config.citiesRoot,
    cities: basename(config.citiesRoot),
  };
  await writeFile(join(made, MANIFEST), JSON.stringify(says));
  if (withKey) await writeFile(join(made, KEY), 'the key');
  if (withCities) await mkdir(join(made, says.cities, 'alpha'), { recursive: true });
  const others = [...(withKey ? [KEY] : []), ...(withCities ? [says.cities] : [])];
  await run('tar', ['-czf', join(folder, 'monday.tgz'), '-C', made, MANIFEST, DUMP, ...others]);
  return join(folder, 'monday.tgz');
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

const withPrograms = (loads: string, work: () => Promise<void>, isCalled = true): Promise<string> =>
  withPgRestore(folder, loads, work, isCalled);

// Guard: what is replaced is the only copy of what came after the backup.
it('moves aside what the database has, says where to, and leaves it there also when the backup cannot be loaded', async () => {
  const told: string[] = [];
  await withPrograms('exit 1', async () => {
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
  await withPrograms('exit 1', () => expect(restore(config, file, true, () => undefined)).rejects.toThrow('pg_restore failed'));
  expect(await epochOf(database.url)).toBe(0);
  let said: unknown;
  await withPrograms('exit 0', async () => {
    said = await restore(config, file, true, () => undefined);
  });
  expect(said).toContain('the log is in epoch 5');
  expect([await epochOf(database.url), await knownEpoch(config.dataDir)]).toEqual([5, 5]);
});

describe('the folder of the cities', () => {
  const put = async (what: string): Promise<void> => {
    await mkdir(join(config.citiesRoot, 'works'), { recursive: true });
    await writeFile(join(config.citiesRoot, 'works', 'city.toml'), what);
  };
  const there = (...path: string[]): Promise<string> => readFile(join(config.citiesRoot, ...path, 'works', 'city.toml'), 'utf8');
  /** A name to which nothing can be added, as a folder that may not be renamed. */
  const cannotBeRenamed = (): void => {
    config = { ...config, citiesRoot: join(folder, 'c'.repeat(250)) } as AppConfig;
  };

  it('is moved aside as a whole', async () => {
    await put('monday');
    const file = await backupOf(12, citiesOf(config.citiesRoot));
    await put('tuesday');
    const told: string[] = [];
    await withPrograms('exit 0', async () => {
      await restore(config, file, true, (line) => told.push(line));
    });
    const [, kept] = /cities is now (.+)$/m.exec(told.join('\n'))!;
    expect([await there(), await readFile(join(kept!, 'works', 'city.toml'), 'utf8')]).toEqual(['monday', 'tuesday']);
  });

  it('gets what it had where it may not be renamed, and what was in it is moved aside in it, for no backup', async () => {
    cannotBeRenamed();
    await put('monday');
    const file = await backupOf(12, citiesOf(config.citiesRoot));
    await put('tuesday');
    const told: string[] = [];
    await withPrograms('exit 0', async () => {
      await restore(config, file, true, (line) => told.push(line));
    });
    const [, kept] = /is now in .+\/(.+)$/m.exec(told.join('\n'))!;
    expect([await there(), await there(kept!)]).toEqual(['monday', 'tuesday']);
    expect((await stat(join(config.citiesRoot, kept!))).mode & 0o777).toBe(0o700);
    const next = await unpack(await backupOf(12, citiesOf(config.citiesRoot)), join(folder, 'unpacked'));
    expect(await readdir(join(folder, 'unpacked', next.cities!))).toEqual(['works']);
  });

  // Guard: the database is replaced before the folder is.
  it('that cannot be replaced is found before anything is touched', async () => {
    await writeFile(join(folder, 'file'), '');
    config = { ...config, citiesRoot: join(folder, 'file', 'cities') } as AppConfig;
    const file = await archived();
    await withPrograms(
      'exit 0',
      () => expect(restore(config, file, true, () => undefined)).rejects.toThrow(/the folder .+ cannot be replaced/),
      false,
    );
    expect(await kept()).toEqual(['public']);
  });

  // Guard: the same of what is in it.
  it('in which something cannot be moved, as a volume, is found before anything is touched, and stays as it is', async () => {
    // Paths end at 4,095 bytes: what has this name has none where it would be moved, nor has the root itself.
    let root = join(folder, 'long');
    while (root.length < 3_300) root = join(root, 'c'.repeat(100));
    root = join(root, 'c'.repeat(3_600 - root.length - 102), 'c'.repeat(100), 'c'.repeat(250));
    const volume = 'v'.repeat(235);
    config = { ...config, citiesRoot: root } as AppConfig;
    for (const name of ['works', volume, 'yard']) await mkdir(join(root, name), { recursive: true });
    const file = await archived();
    await withPrograms(
      'exit 0',
      () => expect(restore(config, file, true, () => undefined)).rejects.toThrow(/the folder .+ cannot be replaced: ENAMETOOLONG/s),
      false,
    );
    expect(await kept()).toEqual(['public']);
    expect((await readdir(root)).sort()).toEqual([volume, 'works', 'yard']);
  });

  // Guard: who mends the folder by hand and starts would have numbers given twice.
  it('that cannot be put back leaves the database in a new epoch, which is said, and the key', async () => {
    await withClient(database.url, (client) => client.query('create table deployment as select 4 as epoch'));
    const file = await archived({ withKey: true });
    const said = /^the database is restored \(epoch 5\); the cities are not: ENOENT/;
    await withPrograms('exit 0', () => expect(restore(config, file, true, () => undefined)).rejects.toThrow(said));
    expect([await epochOf(database.url), await knownEpoch(config.dataDir)]).toEqual([5, 5]);
    expect(await readFile(join(config.dataDir, KEY), 'utf8')).toBe('the key');
  });

  // Guard: the next start would serve what the database says on the cities of before.
  it('is put back although the first key cannot be, which is said', async () => {
    await withClient(database.url, (client) => client.query('create table deployment as select 4 as epoch'));
    await mkdir(join(config.dataDir, KEY, 'in the way'), { recursive: true });
    const file = await archived({ withKey: true, withCities: true });
    const said = /^the database is restored \(epoch 5\); the first key is not: /;
    await withPrograms('exit 0', () => expect(restore(config, file, true, () => undefined)).rejects.toThrow(said));
    expect(await readdir(config.citiesRoot)).toEqual(['alpha']);
  });
});

// Guard: without its rules a host signs in nowhere, shows agents less, and gives its users other numbers.
it('puts the rules of the host back, for its owner alone, where there are none', async () => {
  const rules = join(config.dataDir, 'host.toml');
  const program = join(folder, 'pg_dump');
  const script = `test "$1" = --version && echo "pg_dump (PostgreSQL) 1000" && exit\nfor arg; do case "$arg" in --file=*) : > "\${arg#*=}";; esac; done`;
  await writeFile(program, `#!/bin/sh\n${script}\n`);
  await chmod(program, 0o755);
  await writeFile(rules, 'of monday', { mode: 0o644 });
  const file = join(folder, 'monday.tgz');
  await withPrograms('exit 0', async () => {
    await backUp(config, file, false, () => undefined);
    await rm(rules);
    await restore(config, file, true, () => undefined);
    expect([await readFile(rules, 'utf8'), (await stat(rules)).mode & 0o777]).toEqual(['of monday', 0o600]);
    await writeFile(rules, 'of tuesday');
    await adminAt(database.url, 'drop schema public cascade; create schema public');
    await restore(config, file, true, () => undefined);
    expect(await readFile(rules, 'utf8')).toBe('of tuesday');
  });
});

it('leaves a database alone that has no tables, whatever else it has', async () => {
  await withClient(database.url, (client) => client.query('drop table kept; create view kept_view as select 1'));
  await expect(restore(config, await backupOf(99), true, () => undefined)).rejects.toThrow(/PostgreSQL 99/);
  const told: string[] = [];
  await expect(restore(config, await backupOf(12), false, (line) => told.push(line))).rejects.toThrow(/pg_restore/);
  expect(told).toEqual([]);
});

it('leaves to administrators what is theirs: extensions, what is said of them, and what others may', async () => {
  // Not the owner of the server, as on a service of a cloud.
  const role = `svc_restore_${randomBytes(4).toString('hex')}`;
  await admin(`create role ${role} login password 'svc'`);
  await admin(`alter database ${new URL(database.url).pathname.slice(1)} owner to ${role}`);
  await adminAt(database.url, 'create extension btree_gin');
  const own = new URL(database.url);
  [own.username, own.password] = [role, 'svc'];
  const told: string[] = [];
  const called = await withPrograms('exit 1', async () => {
    const owner = { ...config, databaseUrl: own.href } as AppConfig;
    await expect(restore(owner, await backupOf(12), true, (line) => told.push(line))).rejects.toThrow('pg_restore failed');
  });
  await admin(`alter database ${own.pathname.slice(1)} owner to current_user`);
  await adminAt(database.url, `drop owned by ${role}`);
  await admin(`drop role ${role}`);
  expect(called.split('\n').filter((line) => /^\d/.test(line))).toEqual([
    '1; 2615 1 SCHEMA - bullmq svc',
    '6; 1259 4 TABLE public kept svc',
    '7; 0 0 COMMENT public TABLE kept svc',
  ]);
  expect(called).toContain('--no-privileges\n');
  expect(told.join('\n')).toMatch(/the extension btree_gin is an administrator's, and now in "public_before_/);
  expect(told.join('\n')).toMatch(/the extension no_such_one of the backup is not in this database: /);
});

describe('past a pooler of transactions', () => {
  // Nobody answers at the pooler's own address.
  const pooler = (): AppConfig =>
    ({ ...config, databaseUrl: 'postgres://svc@127.0.0.1:1/svc', databaseListenUrl: database.url }) as AppConfig;

  it('is what is loaded, and what is asked whether the service runs: the pooler keeps connections that had its name', async () => {
    const as = async (name: string): Promise<pg.Client> => {
      const client = new pg.Client({ connectionString: database.url, application_name: name });
      await client.connect();
      return client;
    };
    const [file, pooled] = [await backupOf(12), await as('svc-api')];
    await expect(restore(config, file, true, () => undefined)).rejects.toThrow('the service runs on this database');
    const called = await withPrograms('exit 1', async () => {
      await expect(restore(pooler(), file, true, () => undefined)).rejects.toThrow('pg_restore failed');
    });
    expect(called).toContain(`--dbname=${(await connectionOf(database.url, folder)).address}\n`);
    const listening = await as('svc-listen');
    await expect(restore(pooler(), file, true, () => undefined)).rejects.toThrow('the service runs on this database');
    for (const client of [pooled, listening]) await client.end();
  });

  it('is what is dumped', async () => {
    const program = join(folder, 'pg_dump');
    await writeFile(program, `#!/bin/sh\ntest "$1" = --version && echo "pg_dump (PostgreSQL) 1000" && exit\necho "$@" >&2\nexit 1\n`);
    await chmod(program, 0o755);
    await withPrograms('exit 1', async () => {
      await writeFile(join(folder, 'pg_restore.called'), '');
      const { address } = await connectionOf(database.url, folder);
      await expect(backUp(pooler(), join(folder, 'new.tgz'), false, () => undefined)).rejects.toThrow(address);
    });
  });
});
