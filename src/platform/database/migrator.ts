import { promises as fs } from 'node:fs';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { sql } from 'kysely';
import { Migrator, NO_MIGRATIONS, type Migration, type MigrationResultSet } from 'kysely/migration';
import pg from 'pg';
import { connectionConfig, createDb, createPool, type Db } from './database.js';
import { Holders, MIGRATE } from './migration-holders.js';
import { isHeldByOthers } from './pg-errors.js';
import { serversOf } from './servers.js';

/** Where the migrations lie beside this file, in the sources as in the build (`src/…` and `dist/src/…`). */
const MIGRATIONS_DIR = path.resolve(path.dirname(fileURLToPath(import.meta.url)), '../../../db/migrations');
const MIGRATION_FILE = /^(\d{4}_[a-z0-9_]+)\.(ts|js)$/;

export interface OneMigration extends Migration {
  /** It runs alone and in no transaction, as what ends in `_concurrently` does. */
  readonly alone?: boolean;
}

export type Migrations = Record<string, OneMigration>;

export async function allMigrations(): Promise<Migrations> {
  const found: Migrations = {};
  for (const [name, file] of await migrationFiles())
    found[name] = (await import(pathToFileURL(path.join(MIGRATIONS_DIR, file)).href)) as OneMigration;
  return found;
}

/** The migrations of this release by name, in order. */
export async function knownMigrations(): Promise<string[]> {
  return (await migrationFiles()).map(([name]) => name);
}

async function migrationFiles(): Promise<[name: string, file: string][]> {
  return (await fs.readdir(MIGRATIONS_DIR)).sort().flatMap((file): [string, string][] => {
    const name = MIGRATION_FILE.exec(file)?.[1];
    return name === undefined ? [] : [[name, file]];
  });
}

/** What builds an index while others write can have no transaction around it, and may take long. Such a migration has to bear being begun anew. */
export const isAlone = (name: string, { alone }: OneMigration): boolean => alone === true || name.endsWith('_concurrently');

export type MigrateTarget = 'latest' | 'none';

/** How others are waited for, and who hears of it. */
export interface Waiting {
  /** Of another migrate step. */
  readonly toldAfterMs: number;
  /** Between two tries: whoever has what a migration wants goes on meanwhile, and so do all who wait behind it. */
  readonly pausesMs: readonly number[];
  /** How often it is asked who has what is waited for. Less than the wait for a table, so that each is seen. */
  readonly lookMs: number;
  readonly tell: (line: string) => void;
}
const WAITING: Waiting = {
  toldAfterMs: 3_000,
  pausesMs: [250, 500, 1_000, 2_000, 4_000, 8_000, 8_000, 8_000],
  lookMs: 800,
  tell: (line) => void process.stderr.write(`${line}\n`),
};

/** Migrates the database at `url`. Concurrent callers wait for each other. @throws the first failing migration's error. */
export async function migrate(
  url: string,
  target: MigrateTarget = 'latest',
  given?: Migrations,
  otherwise: Partial<Waiting> = {},
): Promise<string[]> {
  const waiting = { ...WAITING, ...otherwise };
  const pool = createPool(url, { max: 2, applicationName: MIGRATE });
  const db = createDb(pool);
  try {
    // Nearly every start finds all of it done: to load the migrations, and to take a turn, would be most of what it has to do.
    const known = given === undefined ? await knownMigrations() : Object.keys(given).sort();
    if (target === 'latest' && (await pendingOf(db, known)).length === 0) return [];
    const migrations = given ?? (await allMigrations());
    return await inTurn(url, waiting, () => (target === 'latest' ? amongOthers(url, db, migrations, waiting) : takeBack(db, migrations)));
  } finally {
    await db.destroy();
  }
}

/** How a schema and a release differ, in the order of the migrations. */
export interface SchemaDifference {
  /** What the release has and the database has not. */
  readonly missing: string[];
  /** What a newer release has done. */
  readonly unknown: string[];
}

/** Compares the database at `url` with this release. */
export async function compareSchema(url: string): Promise<SchemaDifference> {
  const db = createDb(createPool(url, { max: 1, applicationName: MIGRATE }));
  try {
    return differenceOf(await executedIn(db), await knownMigrations());
  } finally {
    await db.destroy();
  }
}

/** The same of names, each list in the order of the migrations. */
export const differenceOf = (executed: readonly string[], known: readonly string[]): SchemaDifference => ({
  missing: known.filter((name) => !executed.includes(name)),
  unknown: executed.filter((name) => !known.includes(name)),
});

async function executedIn(db: Db): Promise<string[]> {
  const { rows: there } = await sql`select where to_regclass('kysely_migration') is not null`.execute(db);
  if (there.length === 0) return [];
  const { rows } = await sql<{ name: string }>`select name from kysely_migration order by name`.execute(db);
  return rows.map(({ name }) => name);
}

/** Whoever works with several tables may have one that a migration wants, and want one that it has: that is taken back as a whole, and tried again. */
async function amongOthers(url: string, db: Db, migrations: Migrations, { pausesMs, lookMs, tell }: Waiting): Promise<string[]> {
  const done: string[] = [];
  const holders = new Holders(url, lookMs);
  try {
    for (let n = 0; ; n++)
      try {
        await carryOut(db, migrations, done);
        return done;
      } catch (error) {
        if (!isHeldByOthers(error)) throw error;
        const last = n === pausesMs.length;
        const held = holders.told(last);
        if (n === 0 || held !== undefined)
          tell(`others have what a migration wants, ${last ? 'it is given up' : 'it is tried again'}: ${held ?? (error as Error).message}`);
        if (last) throw error;
        await sleep(pausesMs[n]);
      }
  } finally {
    await holders.end();
  }
}

/**
 * What a newer release has done stays: this one may run with it, which is how one goes back after an upgrade.
 *
 * @throws Error where something would have to be done below what a newer release has done
 */
async function pendingOf(db: Db, known: readonly string[]): Promise<string[]> {
  const { missing: pending, unknown } = differenceOf(await executedIn(db), known);
  if (unknown.length === 0 || pending.length === 0) return pending;
  throw new Error(
    `a newer release has changed the database (${unknown.at(-1)}), and this one has ${pending.length} migrations that the newer one has not (from ${pending[0]} on): start the newer release`,
  );
}

/**
 * All at once, in one transaction; what runs alone after what stands before it, which is committed by then.
 *
 * @param done gets the names of what is committed, also where something fails after it
 * @throws Error where something would have to be done below what a newer release has done
 */
export async function carryOut(db: Db, migrations: Migrations, done: string[] = []): Promise<void> {
  const pending = await pendingOf(db, Object.keys(migrations).sort());
  if (pending.length === 0) return;
  const migrator = migratorOf(db, migrations);
  const alone = (name: string): boolean => isAlone(name, migrations[name]!);
  if (!pending.some(alone)) return void done.push(...namesOf(await migrator.migrateToLatest()));
  for (const [n, name] of pending.entries()) {
    const next = pending[n + 1];
    if (alone(name)) done.push(...namesOf(await migrator.migrateTo(name, { disableTransactions: true })));
    else if (next === undefined || alone(next)) done.push(...namesOf(await migrator.migrateTo(name)));
  }
}

const takeBack = async (db: Db, migrations: Migrations): Promise<string[]> =>
  namesOf(await migratorOf(db, migrations).migrateTo(NO_MIGRATIONS));

function migratorOf(db: Db, migrations: Migrations): Migrator {
  const patient = Object.entries(migrations).map(([name, one]) => [name, isAlone(name, one) ? patiently(one) : one]);
  const provider = { getMigrations: () => Promise.resolve(Object.fromEntries(patient) as Migrations) };
  return new Migrator({ db, provider, allowUnorderedMigrations: false });
}

/** It waits for every transaction that is older than itself, and reads the whole table. */
const patiently = (one: OneMigration): OneMigration => ({
  ...one,
  up: async (db) => {
    await sql`set statement_timeout = 0`.execute(db);
    await sql`set lock_timeout = 0`.execute(db);
    try {
      await one.up(db);
    } finally {
      await sql`reset statement_timeout`.execute(db);
      await sql`reset lock_timeout`.execute(db);
    }
  },
});

function namesOf({ error, results }: MigrationResultSet): string[] {
  if (error !== undefined) throw error as Error;
  return (results ?? []).map((r) => r.migrationName);
}

const TURN = 7_305_441_823;
const TURN_ASKED_MS = 100;
/** Who has the turn, out of the two halves that `pg_locks` has of its number. */
const WHOSE_TURN = `
  select pid from pg_locks
  where locktype = 'advisory' and granted and objsubid = 1 and (classid::bigint << 32) | objid::bigint = ${TURN}
    and database = (select oid from pg_database where datname = current_database())`;
/** A step whose node is lost ends with no word: the server finds that out in half a minute, where the system alone takes two hours. */
const OF_THE_TURN = `
  select set_config('idle_in_transaction_session_timeout', '0', true), set_config('tcp_keepalives_idle', '10', true),
    set_config('tcp_keepalives_interval', '5', true), set_config('tcp_keepalives_count', '3', true)`;

/**
 * One at a time. Who waits asks again and again: a statement that waited would have a snapshot, which an index that is built concurrently
 * waits for in turn; a transaction that does nothing has none. It ends with its transaction, so that it is given back through a pooler, too.
 */
async function inTurn<T>(url: string, waiting: Waiting, work: () => Promise<T>): Promise<T> {
  const client = new pg.Client(connectionConfig(await serversOf(url).current(), MIGRATE));
  client.on('error', () => undefined);
  await client.connect();
  try {
    const since = performance.now();
    for (let told = false; !(await mine(client));) {
      if (!told && (told = performance.now() - since >= waiting.toldAfterMs)) waiting.tell(await whoseTurn(client));
      await client.query('rollback');
      await sleep(TURN_ASKED_MS);
    }
    return await work();
  } finally {
    await client.query('rollback').catch(() => undefined);
    await client.end();
  }
}

async function mine(client: pg.Client): Promise<boolean> {
  await client.query('begin');
  await client.query(OF_THE_TURN);
  // Without parameters: a portal of the extended protocol keeps its snapshot until the next statement.
  return (await client.query<{ mine: boolean }>(`select pg_try_advisory_xact_lock(${TURN}) as mine`)).rows[0]!.mine;
}

async function whoseTurn(client: pg.Client): Promise<string> {
  const { rows } = await client.query<{ pid: number }>(WHOSE_TURN);
  return `another migrate step is waited for: process ${rows.map(({ pid }) => pid).join() || 'unknown'} of the database`;
}
