import { readdir, readFile } from 'node:fs/promises';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { sql, type Kysely } from 'kysely';
import { dumpSchema } from '../../../scripts/dump-schema.js';
import { adminAt, cloneDatabase, emptyDatabase, type TestDatabase } from '../../../test/support/database.js';
import { eventually } from '../../../test/support/sse.js';
import { createDb, createPool } from './database.js';
import { allMigrations, migrate, type Migrations } from './migrator.js';

const failing = (code: string): string => `do $$ begin raise exception 'others have it' using errcode = '${code}'; end $$`;

describe('the migrations of an empty database', () => {
  let database: TestDatabase;
  beforeEach(async () => {
    database = await emptyDatabase();
  });
  afterEach(() => database.drop());

  it('make the schema that db/schema.sql shows, leave nothing behind when taken back, and make the same when applied again', async () => {
    await migrate(database.url);
    const first = await dumpSchema(database.url);
    expect(first).toBe(await readFile('db/schema.sql', 'utf8'));
    await migrate(database.url, 'none');
    expect(await dumpSchema(database.url)).toBe('');
    await migrate(database.url);
    expect(await dumpSchema(database.url)).toBe(first);
  });

  it('may be applied by several processes at once', async () => {
    const applied = await Promise.all([migrate(database.url), migrate(database.url), migrate(database.url)]);
    expect(applied.filter((names) => names.length > 0)).toHaveLength(1);
    expect(await migrate(database.url)).toEqual([]);
  });
});

describe('migrations of one that has those before', () => {
  let database: TestDatabase;
  beforeEach(async () => {
    database = await cloneDatabase();
  });
  afterEach(() => database.drop());

  it('build an index while others write, whoever else wants to migrate meanwhile', async () => {
    const name = '9001_index_actors_concurrently';
    const up = async (db: Kysely<unknown>): Promise<void> => {
      await sql`create index concurrently events_actor_idx on events (actor)`.execute(db);
    };
    const migrations: Migrations = { ...(await allMigrations()), [name]: { up } };
    const applied = await Promise.all([1, 2, 3].map(() => migrate(database.url, 'latest', migrations)));
    expect(applied.flat()).toEqual([name]);
    const valid = await adminAt(database.url, "select indisvalid from pg_index where indexrelid = 'events_actor_idx'::regclass");
    expect(valid).toEqual([{ indisvalid: true }]);
  });

  // Guard: whoever waits for a step that is gone waits in silence, and for as long as the system keeps its connection.
  it('are waited for aloud, while the server looks whether the other step is still there', async () => {
    const said: string[] = [];
    const turn = async (): Promise<Record<string, unknown>[]> =>
      adminAt(
        database.url,
        // Kysely has a lock of its own beside it.
        `select pid from pg_locks where locktype = 'advisory' and (classid::bigint << 32) | objid::bigint = 7305441823
          and database = (select oid from pg_database where datname = current_database())`,
      );
    let holder: unknown;
    let second: Promise<string[]> | undefined;
    const waiting = { toldAfterMs: 0, tell: (line: string) => void said.push(line) };
    const up = async (): Promise<void> => {
      [{ pid: holder }] = (await turn()) as [{ pid: unknown }];
      second = migrate(database.url, 'latest', migrations, waiting);
      await eventually(() => said.length > 0);
    };
    const migrations: Migrations = { ...(await allMigrations()), '9001_long': { alone: true, up } };
    await migrate(database.url, 'latest', migrations);
    expect(await second).toEqual([]);
    expect(said).toEqual([`another migrate step is waited for: process ${String(holder)} of the database`]);
  });

  it('keep nobody waiting who has nothing left to do', async () => {
    const said: string[] = [];
    const known = await allMigrations();
    const up = async (): Promise<void> => {
      let hasEnded = false;
      const other = migrate(database.url, 'latest', known, { toldAfterMs: 0, tell: (line) => void said.push(line) });
      await Promise.race([other.finally(() => (hasEnded = true)), eventually(() => hasEnded || said.length > 0)]);
    };
    await migrate(database.url, 'latest', { ...known, '9001_long': { alone: true, up } });
    expect(said).toEqual([]);
  });

  it('are committed by the time one that runs alone begins', async () => {
    const seen: unknown[] = [];
    const migrations: Migrations = {
      ...(await allMigrations()),
      '9001_notes': { up: (db: Kysely<unknown>) => sql`create table notes (id int)`.execute(db) as Promise<never> },
      '9002_look': {
        alone: true,
        up: async () => void seen.push(...(await adminAt(database.url, "select to_regclass('notes') is not null as there"))),
      },
    };
    expect(await migrate(database.url, 'latest', migrations)).toEqual(['9001_notes', '9002_look']);
    expect(seen).toEqual([{ there: true }]);
  });

  it.each([
    ['40P01', ['9001_first_concurrently', '9002_notes', '9003_taken'], 2],
    ['55P03', ['9001_first_concurrently', '9002_notes', '9003_taken'], 2],
    // Guard: what takes too long would take all others their tables for as long again.
    ['57014', '57014', 1],
  ])('let others go first that have what they want, and are tried again (%s)', async (code, ends, tries) => {
    const tried: string[] = [];
    const up = (name: string, statement: string) => async (db: Kysely<unknown>) => {
      tried.push(name);
      await sql.raw(statement).execute(db);
      if (name === 'taken' && tried.filter((one) => one === name).length === 1) await sql.raw(failing(code)).execute(db);
    };
    const migrations: Migrations = {
      ...(await allMigrations()),
      '9001_first_concurrently': { up: up('first', 'select') },
      '9002_notes': { up: up('notes', 'create table notes (id int)') },
      '9003_taken': { up: up('taken', 'alter table notes add column text text') },
    };
    const waiting = { pausesMs: [0], tell: () => undefined };
    const end = await migrate(database.url, 'latest', migrations, waiting).catch(({ code }: { code: string }) => code);
    expect([end, tried]).toEqual([ends, ['first', ...Array.from({ length: tries }, () => ['notes', 'taken']).flat()]]);
  });

  it('say once that others have what they want, and are given up where these keep it', async () => {
    const said: string[] = [];
    let tries = 0;
    const up = async (db: Kysely<unknown>): Promise<void> => {
      tries++;
      await sql.raw(failing(tries > 3 ? '57014' : '55P03')).execute(db);
    };
    const waiting = { pausesMs: [0, 0], tell: (line: string) => void said.push(line) };
    const end = migrate(database.url, 'latest', { ...(await allMigrations()), '9001_taken': { up } }, waiting);
    await expect(end).rejects.toMatchObject({ code: '55P03' });
    expect([tries, said]).toEqual([3, ['others have what a migration wants, it is tried again: others have it']]);
  });

  // Guard: who had the table, a dump or somebody's psql, had to be looked for in pg_locks while it was waited for.
  it('say who has what they want', async () => {
    const said: string[] = [];
    const holder = createDb(createPool(database.url, { max: 1, applicationName: 'nightly-dump' }));
    try {
      await holder.transaction().execute(async (tx) => {
        const { rows } = await sql<{ pid: number }>`select pg_backend_pid() as pid, count(*) from cities`.execute(tx);
        const pid = rows[0]!.pid;
        const up = async (db: Kysely<unknown>): Promise<void> => {
          await sql`set local lock_timeout = '500ms'`.execute(db);
          await sql`alter table cities add column text text`.execute(db);
        };
        const waiting = { pausesMs: [0], lookMs: 20, tell: (line: string) => void said.push(line) };
        const end = migrate(database.url, 'latest', { ...(await allMigrations()), '9001_taken': { up } }, waiting);
        await expect(end).rejects.toMatchObject({ code: '55P03' });
        const who = new RegExp(
          `: process ${pid} of the database \\(nightly-dump, user \\S+\\), in a transaction for \\d+ s, idle in transaction, .*pg_terminate_backend\\(${pid}\\)`,
        );
        expect(said).toEqual([expect.stringMatching(/it is tried again/), expect.stringMatching(/it is given up/)]);
        for (const line of said) expect(line).toMatch(who);
      });
    } finally {
      await holder.destroy();
    }
  });

  it('are left as they are by the release before, which is started again after an upgrade', async () => {
    const all = await allMigrations();
    const before = Object.fromEntries(Object.entries(all).slice(0, -1));
    const schema = await dumpSchema(database.url);
    expect(await migrate(database.url, 'latest', before)).toEqual([]);
    expect(await dumpSchema(database.url)).toBe(schema);
  });

  it('are not carried out below those of a newer release', async () => {
    const tomorrow: Migrations = { ...(await allMigrations()), '9999_tomorrow': { up: () => Promise.resolve() } };
    await migrate(database.url, 'latest', tomorrow);
    const others: Migrations = { ...(await allMigrations()), '9998_of_another': { up: () => Promise.resolve() } };
    await expect(migrate(database.url, 'latest', others)).rejects.toThrow(
      'a newer release has changed the database (9999_tomorrow), and this one has 1 migrations that the newer one has not (from 9998_of_another on)',
    );
  });
});

describe('the files of the migrations', () => {
  // A search reads to its end what such an index has not taken in yet: 4 MB unless it is told otherwise.
  it('keep the list of what is new of an index over words or terms short', async () => {
    const indexes = (await readFile('db/schema.sql', 'utf8')).match(/^CREATE INDEX .* USING gin .*$/gm) ?? [];
    expect(indexes.length).toBeGreaterThan(3);
    expect(indexes.filter((index) => !index.includes("gin_pending_list_limit='64'"))).toEqual([]);
  });

  it('are numbered without a number used twice', async () => {
    const numbers = (await readdir('db/migrations')).map((file) => file.slice(0, 4));
    expect(numbers).toEqual([...new Set(numbers)].sort());
  });
});
