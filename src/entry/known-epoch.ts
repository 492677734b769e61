import { existsSync } from 'node:fs';
import { readFile, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import pg from 'pg';

const NAME = 'log-epoch';
const OWED = 'restore-begun';

/**
 * The newest epoch of the log that a database of this data directory was in; 0 where nobody knows. A backup knows of none that began after
 * it, so this is not kept in the database: a restore begins above it. The number will do: a restore always begins an epoch of its own, above
 * whatever had this number.
 */
export async function knownEpoch(dataDir: string): Promise<number> {
  const epoch = Number(await readFile(join(dataDir, NAME), 'utf8').catch(() => ''));
  return Number.isSafeInteger(epoch) ? epoch : 0;
}

/** Keeps an epoch for the next restore, unless a newer one is known. */
export async function keepEpoch(dataDir: string, epoch: number): Promise<void> {
  if (epoch <= (await knownEpoch(dataDir))) return;
  const fresh = join(dataDir, `${NAME}.new`);
  await writeFile(fresh, `${epoch}\n`, { mode: 0o600 });
  await rename(fresh, join(dataDir, NAME));
}

/** Says that a restore replaces the database of this data directory: it is in no order before its log is in a new epoch. */
export async function oweEpoch(dataDir: string): Promise<void> {
  await writeFile(join(dataDir, OWED), '', { mode: 0o600 });
}

/** Begins the epoch that a restore owes, also one that was killed. */
export async function beginOwedEpoch(dataDir: string, url: string): Promise<void> {
  if (existsSync(join(dataDir, OWED))) await beginNextEpoch(dataDir, url);
}

/** @throws Error where a restore owes an epoch, which not every process may begin */
export function assertNoneOwed(dataDir: string): void {
  if (existsSync(join(dataDir, OWED)))
    throw new Error(`a restore has not ended (${join(dataDir, OWED)}): run it again, or the migrate step with this data directory`);
}

/** Begins an epoch of what was restored: above all that are known, since one that began after the backup has given numbers, too. */
export async function beginNextEpoch(dataDir: string, url: string): Promise<void> {
  const known = await knownEpoch(dataDir);
  const { rows } = await asked(url, (client) => client.query<{ epoch: number }>('select begin_log_epoch($1) as epoch', [known]));
  await keepEpoch(dataDir, rows[0]!.epoch);
  await rm(join(dataDir, OWED), { force: true });
}

/** The epoch that a database is in; 0 where it has no log. */
export async function epochOf(url: string): Promise<number> {
  try {
    const { rows } = await asked(url, (client) => client.query<{ epoch: number }>('select epoch from public.deployment'));
    return rows[0]?.epoch ?? 0;
  } catch (error) {
    if (['42P01', '42703'].includes((error as pg.DatabaseError).code ?? '')) return 0; // no such table, or column
    throw error;
  }
}

async function asked<T>(url: string, work: (client: pg.Client) => Promise<T>): Promise<T> {
  const client = new pg.Client({ connectionString: url, application_name: 'svc-backup', connectionTimeoutMillis: 10_000 });
  client.on('error', () => undefined);
  try {
    await client.connect();
    return await work(client);
  } finally {
    await client.end().catch(() => undefined);
  }
}
