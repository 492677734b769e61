import { migrate } from '../platform/database/migrator.js';
import { migrateQueue } from '../platform/queue/migrate-queue.js';

/** Everything a database needs before a process may use it. Concurrent callers wait for each other. Returns what was applied. */
export async function migrateAll(url: string): Promise<string[]> {
  const applied = await migrate(url);
  await migrateQueue(url);
  return applied;
}
