import { existsSync } from 'node:fs';
import promises, { mkdir, readdir, readFile, rm, rmdir, writeFile } from 'node:fs/promises';
import { syncBuiltinESMExports } from 'node:module';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import pg from 'pg';
import { adminAt, emptyDatabase, type TestDatabase } from '../../../test/support/database.js';
import { folder, removeFolders } from '../../../test/support/folders.js';
import { eventually } from '../../../test/support/sse.js';
import type { AppConfig } from '../../platform/config/config.js';
import { epochOf } from '../known-epoch.js';
import { checkSchema, prepareDatabase } from '../schema.js';
import { endRestore, oweEpoch } from '../unfinished-restore.js';
import { citiesOf, KEY } from './archive.js';
import { backUp } from './backing-up.js';
import { restore } from './restoring.js';
import { packedDump, withPgRestore } from './testing/dumps.js';

const REFUSED = /^a restore (of this database )?has not ended, or still runs/;

let database: TestDatabase;
let home: string;
let config: AppConfig;
/** Of another machine, say. */
let elsewhere: AppConfig;
let file: string;
beforeEach(async () => {
  database = await emptyDatabase();
  home = await folder('svc-unfinished-');
  config = { databaseUrl: database.url, dataDir: join(home, 'data'), citiesRoot: join(home, 'cities') } as AppConfig;
  elsewhere = { ...config, dataDir: join(home, 'other') } as AppConfig;
  for (const { dataDir } of [config, elsewhere]) await mkdir(dataDir);
  await adminAt(database.url, 'create table deployment as select 4 as epoch');
  file = await packedDump(home, config, 12);
});
afterEach(async () => {
  await database.drop();
  await removeFolders();
});

const marker = (): string => join(config.dataDir, 'restore-begun');
const tried = (): Promise<string> => restore(config, file, true, () => undefined);
const refused = async (): Promise<void> => {
  for (const each of [config, elsewhere]) await expect(prepareDatabase(each, database.url)).rejects.toThrow(REFUSED);
  await expect(checkSchema(config, database.url)).rejects.toThrow(REFUSED);
};

const here = (): Promise<unknown> => Promise.resolve();
/** Does it while pg_restore, which then succeeds, is at it, and `after` while the restore does the rest. */
async function amid(work: () => Promise<unknown>, after = here): Promise<Promise<string>> {
  const [begun, go] = [join(home, 'begun'), join(home, 'go')];
  let restored: Promise<string> | undefined;
  await withPgRestore(home, `: > '${begun}'; until [ -e '${go}' ]; do sleep 0.02; done`, async () => {
    restored = tried();
    restored.catch(() => undefined);
    await eventually(() => existsSync(begun));
    try {
      await work();
    } finally {
      await writeFile(go, '');
      await after();
      await restored.catch(() => undefined);
    }
  });
  return restored!;
}

describe('a restore that has not loaded its database', () => {
  // Guard: half a database may have all migrations, and whoever serves from it has no triggers, for ever.
  it('lets nobody start, from whatever data directory, nor back it up, until it is run again', async () => {
    await withPgRestore(home, 'exit 1', () => expect(tried()).rejects.toThrow('pg_restore failed'));
    await refused();
    expect(existsSync(marker())).toBe(true);
    await expect(backUp(config, join(home, 'next.tgz'), false, () => undefined)).rejects.toThrow(REFUSED);
    await withPgRestore(home, 'exit 0', async () => expect(await tried()).toContain('the log is in epoch 5'));
    await prepareDatabase(elsewhere, database.url);
    expect([await epochOf(database.url), existsSync(marker())]).toEqual([5, false]);
  });

  // Guard: the cities would be those of another database, and the epoch is begun of it all the same.
  it('is not let past by what another one has left, nor ended by its end', async () => {
    await oweEpoch(elsewhere.dataDir, 'that of another');
    await withPgRestore(home, 'exit 1', () => expect(tried()).rejects.toThrow('pg_restore failed'));
    await refused();
    await endRestore(elsewhere.dataDir, database.url);
    await refused();
  });

  it('is none where it could move nothing aside: the database is as it was', async () => {
    await adminAt(
      database.url,
      'create schema bullmq; create function public.no_move() returns event_trigger language plpgsql as $$ begin raise exception $m$not here$m$; end $$',
    );
    await adminAt(
      database.url,
      `create event trigger no_move on ddl_command_end when tag in ('ALTER SCHEMA') execute function public.no_move()`,
    );
    await withPgRestore(home, 'exit 0', () => expect(tried()).rejects.toThrow('not here'), false);
    await adminAt(database.url, 'drop event trigger no_move; drop table deployment');
    expect(existsSync(marker())).toBe(false);
    await expect(checkSchema(config, database.url)).rejects.toThrow('run the migrate step first');
  });
});

// Guard: it begins no epoch of a database that is not whole.
it('that an earlier release has left lets nobody start either', async () => {
  await writeFile(marker(), '');
  await expect(prepareDatabase(config, database.url)).rejects.toThrow(REFUSED);
});

describe('while a restore runs', () => {
  it('nobody starts on what it loads', async () => {
    const restored = await amid(async () => {
      await refused();
      expect(existsSync(marker())).toBe(true);
    });
    expect(restored).toContain('the log is in epoch 5');
  });

  // Guard: they would be replaced under it.
  it('nobody starts before the cities are there', async () => {
    await mkdir(join(config.citiesRoot, 'works'), { recursive: true });
    file = await packedDump(home, config, 12, citiesOf(config.citiesRoot));
    await rm(config.citiesRoot, { recursive: true });
    // Keeps the mark there, and so the restore at its end; whoever waits for it all the same waits for a minute.
    const watch = new pg.Client({ connectionString: database.url });
    watch.on('error', () => undefined);
    await watch.connect();
    const hold = (): Promise<unknown> =>
      watch.query(`begin; set local idle_in_transaction_session_timeout = '60s'; lock table public.restore_not_ended in access share mode`);
    const restored = amid(hold, async () => {
      try {
        await eventually(() => existsSync(join(config.citiesRoot, 'works')), 30_000);
        await expect(prepareDatabase(config, database.url)).rejects.toThrow('another supervisor (process');
        await expect(prepareDatabase(elsewhere, database.url)).rejects.toThrow(REFUSED);
        await expect(checkSchema(config, database.url)).rejects.toThrow(REFUSED);
      } finally {
        await watch.end();
      }
    });
    expect(await restored).toContain('the log is in epoch 5');
    await prepareDatabase(elsewhere, database.url);
    expect([await epochOf(database.url), existsSync(marker())]).toEqual([5, false]);
  });

  // Guard: with several hosts in its address a start looks which of them takes writes, and is then refused.
  it('one that looks which host takes writes is no service', async () => {
    const look = new pg.Client({ connectionString: database.url, application_name: 'svc-look' });
    expect(await amid(() => look.connect())).toContain('the log is in epoch 5');
    await look.end();
  });

  // Guard: one that was asked just before has not seen the mark, and the cities would be replaced under it.
  it('a service that has started all the same is found before anything else is replaced', async () => {
    const service = new pg.Client({ connectionString: database.url, application_name: 'svc-api' });
    await expect(amid(() => service.connect())).rejects.toThrow('the service was started on this database');
    await service.end();
    await refused();
  });
});

// Guard: the log is behind what was read, the cities are those of before, and nothing else knows.
it('that is killed, or fails, once it has loaded its database leaves the epoch of its log, and the cities, to the next start', async () => {
  const works = join(config.citiesRoot, 'works', 'city.toml');
  await mkdir(join(config.citiesRoot, 'works'), { recursive: true });
  await writeFile(works, 'monday');
  file = await packedDump(home, config, 12, citiesOf(config.citiesRoot));
  await writeFile(works, 'tuesday');
  // What the one before it has left is not needed any more.
  await oweEpoch(config.dataDir, 'the one before');
  await mkdir(join(config.dataDir, 'restore.new-the one before'));
  const restored = amid(() => adminAt(database.url, 'create table operations ()'));
  await expect(restored).rejects.toThrow('"operations" already exists');
  const unpacked = async (): Promise<string[]> => (await readdir(config.dataDir)).filter((name) => name.startsWith('restore.new'));
  expect(await unpacked()).toHaveLength(1);
  await adminAt(database.url, 'drop table operations');
  // That one does not know which epochs there were.
  await expect(prepareDatabase(elsewhere, database.url)).rejects.toThrow(REFUSED);
  // Another one that is refused takes nothing of it away.
  await expect(restore(config, file, false, () => undefined)).rejects.toThrow('--replace takes the place of it');
  const [left, ...more] = await unpacked();
  expect([more, await readFile(works, 'utf8')]).toEqual([[], 'tuesday']);
  await writeFile(join(config.dataDir, left!, KEY), 'the key');
  await mkdir(join(config.dataDir, KEY));
  const warned: string[] = [];
  const started = (): Promise<string[]> => prepareDatabase(config, database.url, (line) => warned.push(line));
  // What the database says would be served on the cities of before.
  const why = new RegExp(`what is left of it in .+${left!} cannot be put back: the first key is not: `);
  for (const _ of ['once', 'again']) await expect(started()).rejects.toThrow(why);
  await expect(checkSchema(config, database.url)).rejects.toThrow(REFUSED);
  await rmdir(join(config.dataDir, KEY));
  for (const _ of ['the next start', 'the one after it']) {
    await started();
    expect([await readFile(works, 'utf8'), (await readdir(config.dataDir)).sort()]).toEqual(['monday', [KEY, 'log-epoch']]);
  }
  // Those that have failed have begun none.
  expect(await epochOf(database.url)).toBe(5);
  expect(warned).toEqual([expect.stringContaining('cities is now'), expect.stringContaining('what was left of it is put back now')]);
});

describe('a start that ends a restore', () => {
  beforeEach(async () => {
    await adminAt(database.url, 'drop table deployment');
    await prepareDatabase(config, database.url);
    await oweEpoch(config.dataDir, 'this one');
  });

  // Guard: on a full disk, with a service that is started again and again, all epochs were used in a night.
  it('begins no epoch that it cannot keep', async () => {
    const before = await epochOf(database.url);
    await mkdir(join(config.dataDir, 'log-epoch.new'));
    for (const _ of ['once', 'again']) await expect(prepareDatabase(config, database.url)).rejects.toThrow('EISDIR');
    await rmdir(join(config.dataDir, 'log-epoch.new'));
    await prepareDatabase(config, database.url);
    expect(await epochOf(database.url)).toBe(before + 1);
  });

  // Guard: it warned that the cities may not be in place, and began one more epoch.
  it('does nothing where another one has ended it just before', async () => {
    await adminAt(database.url, `create table restore_not_ended (); comment on table restore_not_ended is 'this one'`);
    const before = await epochOf(database.url);
    const warned: string[] = [];
    const other = new pg.Client({ connectionString: database.url });
    await other.connect();
    try {
      // Of the comment, which says whose mark it is.
      await other.query('begin; lock table pg_description in access exclusive mode');
      const started = prepareDatabase(config, database.url, (line) => warned.push(line));
      started.catch(() => undefined);
      await eventually(async () => {
        const { rows } = await other.query(`select from pg_locks where relation = 'pg_description'::regclass and not granted`);
        return rows.length > 0;
      });
      await other.query('drop table restore_not_ended');
      await rm(marker());
      await other.query('commit');
      await started;
    } finally {
      await other.end();
    }
    expect([warned, await epochOf(database.url)]).toEqual([[], before]);
  });
});

// Guard: a start that had put all back died of that, and so did each restore after it.
it('has ended where what it has unpacked cannot be removed, which is told', async () => {
  const unpacked = join(config.dataDir, 'restore.new-this one');
  await mkdir(unpacked);
  await writeFile(join(unpacked, 'plan.json'), '{}');
  const { unlink } = promises;
  jest.spyOn(promises, 'unlink').mockImplementation(async (path) => {
    if (String(path).endsWith('.json')) throw Object.assign(new Error('EPERM'), { code: 'EPERM' });
    return unlink(path);
  });
  syncBuiltinESMExports();
  const told: string[] = [];
  const tell = (line: string): unknown => line.includes(' stays: ') && told.push(line.replace(/(restore.new-).*:/, '$1…:'));
  try {
    await withPgRestore(home, 'exit 0', async () => expect(await restore(config, file, true, tell)).toContain('in epoch 5'));
    await oweEpoch(config.dataDir, 'this one');
    await prepareDatabase(config, database.url, tell);
  } finally {
    jest.restoreAllMocks();
    syncBuiltinESMExports();
  }
  expect([existsSync(marker()), await epochOf(database.url)]).toEqual([false, 6]);
  const stays = `stays: ${config.dataDir}/restore.new-…: EPERM`;
  expect(told).toEqual(
    [
      'what a restore before this has left',
      'what a restore before this has left',
      'what the restore had unpacked',
      'what the restore had unpacked',
    ].map((what) => `${what} ${stays}`),
  );
});

// Guard: a machine that loses power would have the mark, and not what it tells of; once it has ended nothing else has it.
it('has on the disk what it has unpacked before it says so, and what it has put back before it ends', async () => {
  await mkdir(config.citiesRoot);
  file = await packedDump(home, config, 12, citiesOf(config.citiesRoot));
  const program = join(home, 'sync');
  await writeFile(program, `#!/bin/sh\necho "$(cut -d' ' -f1 '${marker()}') $2" >> '${program}.called'\n`, { mode: 0o755 });
  await withPgRestore(home, 'exit 0', () => tried().then(() => undefined));
  const called = (await readFile(`${program}.called`, 'utf8')).trimEnd().split('\n');
  expect(called).toEqual([
    expect.stringContaining(` ${config.dataDir}/restore.new-`),
    `loaded ${config.citiesRoot}`,
    `loaded ${config.dataDir}`,
  ]);
  expect(called[0]).not.toContain('loaded');
});

// Guard: a release that does not know of marks takes that one away.
it('that finds its mark gone begins its epoch all the same', async () => {
  expect(await amid(() => rm(marker()))).toContain('the log is in epoch 5');
});
