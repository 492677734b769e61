import { join } from 'node:path';
import { ensureBootstrapKey } from '../modules/administration/keys/bootstrap-key.js';
import type { AppConfig } from '../platform/config/config.js';
import { createDb, createPool } from '../platform/database/database.js';
import { migrate } from '../platform/database/migrator.js';
import { migrateQueue } from '../platform/queue/migrate-queue.js';

/** Everything a database needs before a process may use it. Concurrent callers wait for each other. Returns what was applied. */
export async function migrateAll(url: string): Promise<string[]> {
  const applied = await migrate(url);
  await migrateQueue(url);
  return applied;
}

/** Where the first key of a supervisor with `SVC_AUTH=keys` is left. */
export function keyFile(config: Pick<AppConfig, 'dataDir'>): string {
  return join(config.dataDir, 'admin.key');
}

/** Migrates, and with `SVC_AUTH=keys` makes the first key. */
export async function prepareDatabase(config: AppConfig, url: string): Promise<string[]> {
  const applied = await migrateAll(url);
  if (config.auth === 'keys') {
    const db = createDb(createPool(url, { max: 1, applicationName: 'svc-migrate' }));
    try {
      if (await ensureBootstrapKey(db, keyFile(config))) applied.push(`the first API key is in ${keyFile(config)}`);
    } finally {
      await db.destroy();
    }
  }
  return applied;
}
