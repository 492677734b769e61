import { runMigrations } from 'bullmq';
import pg from 'pg';
import { serversOf } from '../database/servers.js';

/**
 * Makes or upgrades BullMQ's own schema (`bullmq`) in the database at `url`. Part of the migrate step; needed where
 * the queue runs on PostgreSQL and harmless elsewhere. Concurrent callers wait for each other.
 */
export async function migrateQueue(url: string): Promise<void> {
  const client = new pg.Client({ connectionString: await serversOf(url).current(), application_name: 'svc-migrate' });
  await client.connect();
  try {
    await runMigrations(client);
  } finally {
    await client.end();
  }
}
