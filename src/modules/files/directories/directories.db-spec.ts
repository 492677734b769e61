import { mkdir, mkdtemp, realpath, rm, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { sql } from 'kysely';
import { cloneDatabase, type TestDatabase } from '../../../../test/support/database.js';
import { registerCity } from '../../../../test/support/registry.js';
import { eventually } from '../../../../test/support/sse.js';
import { AppConfig, loadConfig, type Config } from '../../../platform/config/config.js';
import { createDb, createPool, type Db, type PgPool } from '../../../platform/database/database.js';
import { Transactions, type Tx } from '../../../platform/database/transactions.js';
import { Failpoints } from '../../../platform/failpoints/failpoints.js';
import { DirectoriesRepository } from './directories.repository.js';
import { DirectoriesService, type Claimant, type RigClaims } from './directories.service.js';

/** One replica: a pool of its own. */
class Replica {
  readonly pool: PgPool;
  readonly db: Db;
  readonly directories: DirectoriesService;
  readonly #transactions: Transactions;

  constructor(url: string, dataDir: string, citiesRoot: string, allowedPaths: readonly string[] = []) {
    this.pool = createPool(url);
    this.db = createDb(this.pool);
    const config = new AppConfig({ ...(loadConfig({ SVC_DATA_DIR: dataDir }, dataDir) as Config), citiesRoot, allowedPaths });
    this.directories = new DirectoriesService(config, new DirectoriesRepository(), this.db);
    this.#transactions = new Transactions(this.db, new Failpoints());
  }

  run<T>(work: (tx: Tx) => Promise<T>): Promise<T> {
    return this.#transactions.run(work);
  }

  /** As a registration does it. */
  async take(directory: string, claimant: Claimant, before: () => Promise<void> = () => Promise.resolve()): Promise<void> {
    const former = await this.directories.free(directory, claimant);
    await this.run(async (tx) => {
      await this.directories.reserve(tx, directory, claimant, former);
      await before();
      await registerCity(tx as never, claimant.city, directory);
      await this.directories.settle(tx, directory, claimant.city);
    });
  }

  /** As a revision does it. */
  rigs(city: string, paths: readonly string[], more: Partial<RigClaims> = {}): Promise<void> {
    return this.run((tx) => this.directories.holdRigs(tx, city, { paths, given: [], confined: false, ...more }));
  }

  /** As an unregistration does it. */
  leave(city: string, directory: string): Promise<void> {
    return this.run(async (tx) => {
      await tx.deleteFrom('cities').where('name', '=', city).execute();
      await this.directories.remember(tx, city, directory);
    });
  }
}

let database: TestDatabase;
let base: string;
let root: string;
let a: Replica;
let b: Replica;
const at = (...parts: string[]): string => path.join(root, ...parts);
const anybody = (city: string): Claimant => ({ city, sees: undefined });
const only = (city: string): Claimant => ({ city, sees: [city] });
const taken = (detail: RegExp): object => ({ problem: 'conflict', detail: expect.stringMatching(detail) });
const NOT_YOURS = { problem: 'forbidden', detail: 'forbidden: this key may only use names and directories of its own cities' };

beforeEach(async () => {
  database = await cloneDatabase();
  base = await realpath(await mkdtemp(path.join(tmpdir(), 'svc-trees-')));
  root = path.join(base, 'cities');
  await mkdir(root);
  [a, b] = [0, 1].map(() => new Replica(database.url, base, root)) as [Replica, Replica];
});
afterEach(async () => {
  await a.db.destroy();
  await b.db.destroy();
  await database.drop();
  await rm(base, { recursive: true, force: true });
});

describe('a tree has one owner', () => {
  it.each([
    ['the same', 'north'],
    ['one in it', 'north/rigs/web'],
    ['one around it', '.'],
  ])('a city: %s is refused, to cities as to rigs', async (_what, other) => {
    await a.take(at('north'), anybody('north'));
    await expect(b.take(at(other), anybody('south'))).rejects.toMatchObject(taken(/is not free: the city north has /));
    await expect(b.take(at(other), only('south'))).rejects.toMatchObject(NOT_YOURS);
    await expect(b.rigs('south', [at(other)])).rejects.toMatchObject(taken(/belongs to another city/));
    expect(await b.directories.refusedRigs('south', { paths: [at(other)], given: [at(other)], confined: false })).toEqual([at(other)]);
    expect(await b.directories.isOthers(at(other), 'south')).toBe(true);
    expect(await b.directories.isOthers(at(other), 'north')).toBe(false);
  });

  it.each([
    ['the same', 'shared/web'],
    ['one in it', 'shared/web/deep/er'],
    ['one around it', 'shared'],
  ])('a rig outside of its city: %s is refused, to cities as to rigs', async (_what, other) => {
    await a.take(at('north'), anybody('north'));
    await a.rigs('north', [at('shared/web')]);
    await expect(b.take(at(other), anybody('south'))).rejects.toMatchObject(taken(/the city north has .*\/shared\/web$/));
    await expect(b.take(at(other), only('south'))).rejects.toMatchObject(NOT_YOURS);
    await expect(b.rigs('south', [at(other)])).rejects.toMatchObject(taken(/belongs to another city/));
    await a.rigs('north', [at('shared/web'), at(other)]);
  });

  it('names that begin alike are no part of each other', async () => {
    await a.take(at('north'), anybody('north'));
    for (const name of ['north-2', 'nort', 'north0', 'north.d', 'North', 'nor%']) await b.take(at(name), anybody(name.replace('%', 'x')));
    await b.rigs('nort', [at('north!'), at('norti')]);
  });

  it('what a city loses stays its own in memory, for whoever may see it', async () => {
    await mkdir(at('north'));
    await a.take(at('north'), anybody('north'));
    await a.leave('north', at('north'));
    for (const other of ['north', 'north/rigs', '.']) {
      await expect(b.take(at(other), only('south'))).rejects.toMatchObject(NOT_YOURS);
      await expect(b.rigs('south', [at(other)])).rejects.toMatchObject(taken(/belongs to another city/));
      expect(await b.directories.isOthers(at(other), 'south')).toBe(true);
    }
    expect(await b.directories.isOf(['north'], at('north'), root)).toBe(true);
    expect(await b.directories.isOf(['south'], at('north'), root)).toBe(false);
    await b.take(at('north'), { city: 'south', sees: ['north', 'south'] });
    await expect(a.take(at('north'), anybody('north'))).rejects.toMatchObject(taken(/the city south has/));
    await b.leave('south', at('north'));
    await expect(a.take(at('north'), only('north'))).rejects.toMatchObject(NOT_YOURS);
    await a.take(at('north'), anybody('north'));
  });

  it('what is gone from the disk is forgotten', async () => {
    await a.take(at('north'), anybody('north'));
    await a.leave('north', at('north'));
    await b.take(at('north'), only('south'));
  });

  it('a rig that is given up is remembered, and comes along when its city comes back under another name', async () => {
    await mkdir(at('north'));
    await a.take(at('north'), anybody('north'));
    await a.take(at('west'), anybody('west'));
    await a.rigs('north', [at('web'), at('old')]);
    await a.rigs('north', [at('web')]);
    await expect(b.rigs('west', [at('old')])).rejects.toMatchObject(taken(/belongs to another city/));
    await b.rigs('west', [at('old')], { given: [at('old')] });
    await expect(a.rigs('north', [at('web'), at('old')])).rejects.toMatchObject(taken(/old$/));
    await a.leave('north', at('north'));
    await expect(b.rigs('west', [at('old'), at('web')])).rejects.toMatchObject(taken(/web$/));
    await a.take(at('north'), anybody('south'));
    await a.rigs('south', [at('web')]);
    await expect(b.rigs('west', [at('old'), at('web')], { given: [at('web')] })).rejects.toMatchObject(taken(/web$/));
  });

  it('a key of some cities only gets nothing outside that its city never had, whether it is free or not', async () => {
    await a.take(at('north'), anybody('north'));
    await a.rigs('north', [at('web')]);
    const asked = (paths: string[]): Promise<string[]> => a.directories.refusedRigs('north', { paths, given: [], confined: true });
    expect(await asked([at('web'), at('free')])).toEqual([at('free')]);
    expect([await a.directories.hasRig('north', at('web')), await a.directories.hasRig('north', at('free'))]).toEqual([true, false]);
  });

  it('what lies where the operator allows rigs is the operator’s until somebody asks for it by name', async () => {
    const [own, other] = ['allowed/own', 'allowed/other'].map((name) => path.join(base, name)) as [string, string];
    const replica = new Replica(database.url, path.join(base, 'data'), root, [path.join(base, 'allowed')]);
    try {
      for (const folder of [own, other, path.join(base, 'data')]) await mkdir(folder, { recursive: true });
      await a.take(at('north'), anybody('north'));
      const asked = (paths: string[], given: string[], confined = false): Promise<string[]> =>
        replica.directories.refusedRigs('north', { paths, given, confined });
      expect(await asked([own], [own])).toEqual([]);
      expect(await asked([own], [])).toEqual([own]);
      expect(await asked([own], [own], true)).toEqual([own]);
      expect(await replica.directories.isOthers(own, 'north')).toBe(true);
      await replica.rigs('north', [own], { given: [own] });
      expect(await asked([own, other], [])).toEqual([other]);
      expect([await replica.directories.isOthers(own, 'north'), await replica.directories.isOthers(own, 'south')]).toEqual([false, true]);
      for (const service of ['data', 'data/keys', '.'].map((name) => path.join(base, name)))
        expect(await asked([service], [service])).toEqual([service]);
    } finally {
      await replica.db.destroy();
    }
  });

  // Guard: the files of every city, as they were before a restore.
  it('nobody gets what a restore has moved aside in the cities root', async () => {
    for (const name of ['.svc-before-2026', '.svc-before-2026/north', '.SVC-Before-2026/north/rigs/web']) {
      expect(await a.directories.isOfService(at(name))).toBe(true);
      expect(await a.directories.isOthers(at(name), 'north')).toBe(true);
      expect(await a.directories.refusedRigs('north', { paths: [at(name)], given: [at(name)], confined: false })).toEqual([at(name)]);
    }
    for (const name of ['svc-before-2026', 'north/.svc-before-2026']) expect(await a.directories.isOfService(at(name))).toBe(false);
  });

  it("nobody gets the service's own files, where they lie below the cities root", async () => {
    const own = new Replica(database.url, path.join(root, 'srv/data'), root);
    try {
      await mkdir(at('srv/data'), { recursive: true });
      await symlink('srv', at('alias'));
      for (const [name, is] of [
        ['srv/data', true],
        ['srv/data/keys', true],
        ['srv', true],
        ['srv/data2', false],
        ['north', false],
      ] as const)
        // prettier-ignore
        expect({ name, is: await own.directories.isOfService(at(name)) }).toEqual({ name, is });
      expect(await own.directories.refusedRigs('north', { paths: [at('srv')], given: [], confined: false })).toEqual([at('srv')]);
      // The root in the data directory is the usual case.
      expect(await a.directories.isOfService(at('north'))).toBe(false);
    } finally {
      await own.db.destroy();
    }
  });
});

describe('two replicas', () => {
  /** Lets both look before either takes, so that only the lock can decide. */
  async function race(first: (before: () => Promise<void>) => Promise<void>, second: () => Promise<void>): Promise<string[]> {
    const waiting = (): Promise<boolean> =>
      sql`select from pg_locks where locktype = 'advisory' and not granted and classid = 4`
        .execute(a.db)
        .then(({ rows }) => rows.length > 0);
    let other: Promise<void> | undefined;
    const one = first(async () => {
      other = second();
      other.catch(() => undefined);
      await eventually(waiting);
    });
    const ends = await Promise.allSettled([one, one.then(() => other)]);
    return ends.map(({ status }) => status);
  }

  it.each([
    ['the same', 'deep'],
    ['one around the other', 'deep/er/still'],
  ])('give two cities %s directory once', async (_what, other) => {
    expect(await race((before) => a.take(at('deep'), anybody('north'), before), () => b.take(at(other), anybody('south')))).toEqual(['fulfilled', 'rejected']); // prettier-ignore
    expect((await sql`select name from cities`.execute(a.db)).rows).toEqual([{ name: 'north' }]);
  });

  it('give a place to a city or to a rig, not to both', async () => {
    await a.take(at('west'), anybody('west'));
    expect(await race((before) => a.take(at('place/city'), anybody('north'), before), () => b.rigs('west', [at('place')]))).toEqual(['fulfilled', 'rejected']); // prettier-ignore
    expect((await sql`select path from directories`.execute(a.db)).rows).toEqual([]);
  });

  it('let one of many have a directory, whoever comes when', async () => {
    const claims = Array.from({ length: 12 }, (_, n) =>
      (n % 2 === 0 ? a : b).take(at('x/'.repeat(1 + (n % 4)).slice(0, -1)), anybody(`city-${n}`)),
    );
    const ends = await Promise.allSettled(claims);
    expect(ends.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
  });
});

it('looking for overlaps costs index lookups, among thousands of cities too', async () => {
  await sql`insert into event_streams (name) select 'city-' || n from generate_series(1, 3000) n`.execute(a.db);
  await sql`insert into cities (name, dir, stream_id) select name, ${root} || '/team/' || name, id from event_streams where name like 'city-%'`.execute(a.db); // prettier-ignore
  await sql`insert into directories (path, city, kind, held)
    select ${root} || '/shared/' || n || '/', 'city-' || n, 'rig', n % 2 = 0 from generate_series(1, 3000) n`.execute(a.db);
  await sql`analyze cities, directories`.execute(a.db);
  const statements: { sql: string; parameters: readonly unknown[] }[] = [];
  const watched = a.db.withPlugin({
    transformQuery: ({ node }) => {
      statements.push(a.db.getExecutor().compileQuery(node, { queryId: 'watched' }));
      return node;
    },
    transformResult: ({ result }) => Promise.resolve(result),
  });
  const found = await new DirectoriesRepository().overlaps(watched, `${at('team/city-7/rigs/web')}/`, 'other');
  expect(found).toEqual([{ path: `${at('team/city-7')}/`, city: 'city-7', kind: 'city', held: true }]);
  expect(statements).toHaveLength(1);
  const { rows } = await a.pool.query<{ 'QUERY PLAN': string }>(`explain ${statements[0]!.sql}`, [...statements[0]!.parameters]);
  const plan = rows.map((row) => row['QUERY PLAN']).join('\n');
  expect(plan).toContain('cities_tree_idx');
  expect(plan).toContain('directories_path_pkey');
  expect(plan).not.toMatch(/Seq Scan on (cities|directories)/);
});
