import { join } from 'node:path';
import { ensureBootstrapKey } from '../modules/administration/keys/bootstrap-key.js';
import type { AppConfig } from '../platform/config/config.js';
import { pastPooler } from '../platform/config/database-address.js';
import { createDb, createPool, SETTINGS_OF_ROLE } from '../platform/database/database.js';
import { compareSchema, migrate } from '../platform/database/migrator.js';
import { serversOf } from '../platform/database/servers.js';
import { Transactions } from '../platform/database/transactions.js';
import { lockDirectory } from '../platform/embedded/lock.js';
import { Failpoints } from '../platform/failpoints/failpoints.js';
import { ProcessesRepository } from '../platform/processes/processes.repository.js';
import { migrateQueue } from '../platform/queue/migrate-queue.js';
import { endPlacing, removeUnpacked } from './backup/placing.js';
import { beginOwedEpoch, epochOf, keepEpoch } from './known-epoch.js';
import { assertLoaded, assertWhole, endRestore, owedBy } from './unfinished-restore.js';

/** Everything a database needs before a process may use it. Concurrent callers wait for each other. Returns what was applied. */
export async function migrateAll(url: string): Promise<string[]> {
  const applied = await migrate(url);
  await migrateQueue(url);
  return applied;
}

/**
 * A release may be started on the schema of the one after it, not on that of the one before. Answers what to warn of.
 *
 * @throws Error where the database has to be migrated first, or a restore of it has not ended
 */
export async function checkSchema(config: Pick<AppConfig, 'databaseListenUrl'>, given: string): Promise<string | undefined> {
  await assertWhole(pastPooler(config, given));
  const { missing, unknown } = await compareSchema(pastPooler(config, given));
  if (missing.length > 0)
    throw new Error(
      `the database of SVC_DATABASE_URL has not all of the schema of this release: run the migrate step first (${missing.length} migrations are missing, from ${missing[0]} on)`,
    );
  if (unknown.length === 0) return undefined;
  return `a newer release has changed the database (${unknown.at(-1)}): the one just before that one runs with it, an older one does not`;
}

/** Where the first key of a supervisor with `SVC_AUTH=keys` is left. */
export function keyFile(config: Pick<AppConfig, 'dataDir'>): string {
  return join(config.dataDir, 'admin.key');
}

async function setRole(url: string): Promise<void> {
  const pool = createPool(url, { max: 1, applicationName: 'svc-migrate' });
  try {
    await pool.query(SETTINGS_OF_ROLE);
  } finally {
    await pool.end();
  }
}

/** Of a database that nobody uses yet: those that were killed with the start before this one are not waited for. */
export async function buryProcesses(url: string): Promise<void> {
  const db = createDb(createPool(url, { max: 1, applicationName: 'svc-migrate' }));
  try {
    await new Transactions(db, new Failpoints()).run((tx) => new ProcessesRepository().bury(tx));
  } finally {
    await db.destroy();
  }
}

const REST_IS_BACK = 'a restore had not ended: what was left of it is put back now';
const CITIES_MAY_LACK =
  'a restore had not ended: its database is whole, but what it had unpacked is gone, and its cities may not be in place: where they are not, run it again with --replace, or put them back by hand';

/**
 * What `makeReady` does, which also ends a restore that was killed, or has failed, once its database was loaded; `warn` is told then what
 * became of the rest.
 *
 * @throws Error where a restore has not ended, and cannot be: half a database may have all migrations, and the next start would see none missing
 */
export async function prepareDatabase(config: AppConfig, given: string, warn: (line: string) => void = () => undefined): Promise<string[]> {
  const url = pastPooler(config, given);
  if ((await owed(config, url)) === undefined) return makeReady(config, url);
  // A restore that still replaces the cities has it. So has this process where the database is embedded.
  const lock = config.databaseUrl === undefined ? undefined : await lockDirectory(config.dataDir);
  try {
    // Whoever had the lock may have done it meanwhile.
    const token = await owed(config, url);
    if (token === undefined) return await makeReady(config, url);
    // First: a start that cannot shall begin no epoch, of which there are not many.
    const isBack = await endPlacing(config, token, warn);
    const applied = await makeReady(config, url);
    await endRestore(config.dataDir, await serversOf(url).current());
    // It has ended all the same.
    if (isBack)
      await removeUnpacked(config.dataDir, undefined).catch((e: Error) => warn(`what the restore had unpacked stays: ${e.message}`));
    warn(isBack ? REST_IS_BACK : CITIES_MAY_LACK);
    return applied;
  } finally {
    await lock?.release();
  }
}

/** The token of the restore that has left something to do. @throws Error where one has not loaded its database */
async function owed(config: AppConfig, url: string): Promise<string | undefined> {
  await assertLoaded(config.dataDir);
  const token = await owedBy(config.dataDir);
  await assertWhole(url, token);
  return token;
}

/** Migrates, with `SVC_AUTH=keys` makes the first key, begins the epoch that a restore owes, and keeps that of an embedded database for a restore. */
export async function makeReady(config: AppConfig, url: string): Promise<string[]> {
  const applied = await migrateAll(url);
  if (config.databaseListenUrl !== undefined) await setRole(url);
  if (config.auth === 'keys') {
    const db = createDb(createPool(url, { max: 1, applicationName: 'svc-migrate' }));
    try {
      if (await ensureBootstrapKey(db, keyFile(config))) applied.push(`the first API key is in ${keyFile(config)}`);
    } finally {
      await db.destroy();
    }
  }
  // Last: what fails before it fails at the next start, too, and each would begin one.
  await beginOwedEpoch(config.dataDir, await serversOf(url).current());
  // Its files may be put aside, or lost, without anybody asking it once more.
  if (config.databaseUrl === undefined) await keepEpoch(config.dataDir, await epochOf(url));
  return applied;
}
