import { afterEach, beforeEach, expect, it } from '@jest/globals';
import pg from 'pg';
import { adminAt, cloneDatabase, type TestDatabase } from '../../test/support/database.js';
import { folder, removeFolders } from '../../test/support/folders.js';
import { eventually } from '../../test/support/sse.js';
import { loadConfig, type AppConfig } from '../platform/config/config.js';
import { Primary } from './processes/primary.js';
import type { Service } from './service.js';
import { Supervisor } from './supervisor.js';

let database: TestDatabase;
let other: pg.Client;
beforeEach(async () => {
  database = await cloneDatabase();
  other = new pg.Client({ connectionString: database.url });
  await other.connect();
});
afterEach(async () => {
  await other.end();
  await database.drop();
  await removeFolders();
});

const SERVICES: [string, (config: AppConfig) => Service][] = [
  ['one process', (config) => new Supervisor(config)],
  ['several processes', (config) => new Primary(config, 2)],
];

async function beginning(serviceOf: (config: AppConfig) => Service): Promise<{ service: Service; begun: Promise<string> }> {
  const dataDir = await folder('svc-interrupted-');
  const env = { SVC_DATABASE_URL: database.url, SVC_DATA_DIR: dataDir, SVC_PORT: '0', SVC_LOG_LEVEL: 'silent' };
  const service = serviceOf(loadConfig(env, '/'));
  // The first that a start asks of a schema is what has been done to it.
  await other.query('begin; lock table kysely_migration');
  const begun = service.start().then(
    () => 'begun',
    (error: Error) => error.name,
  );
  return { service, begun };
}

// Guard: whoever has asked it to end waits for what it has begun since, and then kills it.
it.each(SERVICES)('of %s that is told to stop while it prepares its database begins nothing more', async (_, serviceOf) => {
  const { service, begun } = await beginning(serviceOf);
  const waits = `select from pg_stat_activity where datname = current_database() and application_name = 'svc-migrate' and wait_event_type = 'Lock'`;
  // Not over `other`: within its transaction it would see the same activity again and again.
  await eventually(async () => (await adminAt(database.url, waits)).length > 0);
  const stopped = service.stop();
  await other.query('rollback');
  await stopped;
  expect(await begun).toBe('AbortError');
});

it.each(SERVICES)('of %s that is told to stop before that waits for nobody who prepares it', async (_, serviceOf) => {
  const { service, begun } = await beginning(serviceOf);
  await service.stop();
  expect(await begun).toBe('AbortError');
});
