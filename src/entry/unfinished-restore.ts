import { existsSync } from 'node:fs';
import { readFile, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import pg from 'pg';
import { serversOf } from '../platform/database/servers.js';

const NAME = 'restore-begun';
/** What it says once the database is whole, and its log alone owes an epoch. */
const LOADED = 'loaded';

const fileIn = (dataDir: string): string => join(dataDir, NAME);

/**
 * Marks the database of this data directory as none to serve from, before `moveAside`, which moves all that is there, or nothing: where it
 * fails the database is as it was.
 */
export async function beginRestore(dataDir: string, moveAside: () => Promise<void>): Promise<void> {
  const wasThere = existsSync(fileIn(dataDir));
  // Nothing in it is secret, and who starts the service may be another user.
  await writeFile(fileIn(dataDir), '', { mode: 0o644 });
  try {
    await moveAside();
  } catch (error) {
    if (!wasThere) await endRestore(dataDir);
    throw error;
  }
}

/** Says that what the restore has loaded is whole: whoever may begin the epoch that its log owes may start. */
export async function oweEpoch(dataDir: string): Promise<void> {
  const fresh = `${fileIn(dataDir)}.new`;
  await writeFile(fresh, LOADED, { mode: 0o644 });
  await rename(fresh, fileIn(dataDir));
}

export async function endRestore(dataDir: string): Promise<void> {
  await rm(fileIn(dataDir), { force: true });
}

/** Of one that has loaded its database. */
export async function isEpochOwed(dataDir: string): Promise<boolean> {
  return (await readFile(fileIn(dataDir), 'utf8').catch(() => '')) === LOADED;
}

/** @throws Error where a restore has not put all of its database there, or is about to */
export async function assertLoaded(dataDir: string): Promise<void> {
  if (existsSync(fileIn(dataDir)) && !(await isEpochOwed(dataDir)))
    throw new Error(
      `a restore has not ended, or still runs (${fileIn(dataDir)}): the database is not whole; when none runs, run it again with --replace`,
    );
}

/** @throws Error where a restore has not ended, or owes an epoch, which not every process may begin */
export async function assertNoneOwed(dataDir: string): Promise<void> {
  await assertLoaded(dataDir);
  if (await isEpochOwed(dataDir))
    throw new Error(`a restore has not ended (${fileIn(dataDir)}): run it again, or the migrate step with this data directory`);
}

/**
 * Marks a database of one's own as the file marks the data directory: who starts with another one sees this. It is gone with the epoch that
 * the log owes.
 */
export const MARK = 'create table public.restore_not_ended ()';
export const UNMARK = 'drop table if exists public.restore_not_ended';

/** @throws Error where a restore of the database at `url`, from whatever data directory, has not ended */
export async function assertWhole(url: string): Promise<void> {
  const { rows } = await asked(await serversOf(url).current(), (client) =>
    client.query<{ marked: boolean }>(`select to_regclass('public.restore_not_ended') is not null as marked`),
  );
  if (rows[0]!.marked)
    throw new Error(
      'a restore of this database has not ended, or still runs: when none runs, run it again with --replace, or the migrate step with the data directory that it had',
    );
}

export async function asked<T>(url: string, work: (client: pg.Client) => Promise<T>): Promise<T> {
  const client = new pg.Client({ connectionString: url, application_name: 'svc-backup', connectionTimeoutMillis: 10_000 });
  client.on('error', () => undefined);
  try {
    await client.connect();
    return await work(client);
  } finally {
    await client.end().catch(() => undefined);
  }
}
