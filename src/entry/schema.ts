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

/** Migrates everything that a process needs in a database. Concurrent callers wait for each other. Returns what was applied. */
export async function migrateAll(url: string): Promise<string[]> {
  const applied = await migrate(url);
  await migrateQueue(url);
  return applied;
}

/**
 * A release runs on the schema of the release after it, but not on that of the one before. Returns a warning, if any.
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

/** Marks the processes of an earlier start as dead, in a database that nobody uses yet: what they had need not wait for their heartbeats to time out. */
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
 * As `makeReady`, but also completes a restore that was killed, or has failed, after its database was loaded; `warn` is told then what became of the
 * cities.
 *
 * @throws Error for an unfinished restore that cannot be completed: half a database may have all migrations, and the next start would see none missing
 */
export async function prepareDatabase(config: AppConfig, given: string, warn: (line: string) => void = () => undefined): Promise<string[]> {
  const url = pastPooler(config, given);
  if ((await owed(config, url)) === undefined) return makeReady(config, url);
  // A restore holds this lock while it replaces the cities. With an embedded database this process has it already.
  const lock = config.databaseUrl === undefined ? undefined : await lockDirectory(config.dataDir);
  try {
    // The holder of the lock may have completed it meanwhile.
    const token = await owed(config, url);
    if (token === undefined) return await makeReady(config, url);
    // Before `makeReady`: a start that fails here must begin no epoch, since epochs are limited.
    const isBack = await endPlacing(config, token, warn);
    const applied = await makeReady(config, url);
    await endRestore(config.dataDir, await serversOf(url).current());
    // The restore is complete even if this fails.
    if (isBack)
      await removeUnpacked(config.dataDir, undefined).catch((e: Error) => warn(`what the restore had unpacked stays: ${e.message}`));
    warn(isBack ? REST_IS_BACK : CITIES_MAY_LACK);
    return applied;
  } finally {
    await lock?.release();
  }
}

/** The token of a restore that is to be completed. @throws Error when a restore has not loaded its database */
async function owed(config: AppConfig, url: string): Promise<string | undefined> {
  await assertLoaded(config.dataDir);
  const token = await owedBy(config.dataDir);
  await assertWhole(url, token);
  return token;
}

/** Migrates, makes the first key with `SVC_AUTH=keys`, begins the epoch that a restore owes, and stores the epoch of an embedded database for later restores. */
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
  // Last: a step that fails before this fails at each start, and each would begin an epoch.
  await beginOwedEpoch(config.dataDir, await serversOf(url).current());
  // Now, as the files of an embedded database may be moved away or lost without a chance to ask it again.
  if (config.databaseUrl === undefined) await keepEpoch(config.dataDir, await epochOf(url));
  return applied;
}
