import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { adminAt, cloneDatabase, type TestDatabase } from '../../test/support/database.js';
import { folder, removeFolders } from '../../test/support/folders.js';
import { spawnSupervisor } from '../../test/support/supervisor-process.js';
import { checkSchema } from './schema.js';
import { oweEpoch } from './unfinished-restore.js';

const direct = { databaseListenUrl: undefined };
let database: TestDatabase;
beforeEach(async () => {
  database = await cloneDatabase();
});
afterEach(async () => {
  await database.drop();
  await removeFolders();
});

describe('the schema that a process finds at its start', () => {
  it('is the one of its release', async () => {
    expect(await checkSchema(direct, database.url)).toBeUndefined();
  });

  // Guard: a pooler refuses the options that this connection sends, and then no process starts.
  it('is asked of the server itself where there is a pooler before it', async () => {
    expect(await checkSchema({ databaseListenUrl: database.url }, 'postgres://svc@127.0.0.1:1/svc')).toBeUndefined();
  });

  it('may be that of a newer release, which is told', async () => {
    await adminAt(database.url, `insert into kysely_migration (name, timestamp) values ('9999_tomorrow', '')`);
    expect(await checkSchema(direct, database.url)).toContain('a newer release has changed the database (9999_tomorrow)');
  });

  it('ends the start where the migrate step was left out: what is asked would be answered with 500', async () => {
    await adminAt(database.url, `delete from kysely_migration where name = '0002_create_operations'`);
    const api = spawnSupervisor({ SVC_DATABASE_URL: database.url, SVC_ROLE: 'api' });
    expect((await api.exited).code).toBe(1);
    expect(api.output()).toContain('run the migrate step first (1 migrations are missing, from 0002_create_operations on)');
  });

  // Guard: an api that serves from a log that is behind what was read, before it is in a new epoch.
  it('ends the start of one that migrates nothing where a restore has not ended', async () => {
    const dataDir = await folder('svc-schema-');
    await oweEpoch(dataDir, 'this one');
    const api = spawnSupervisor({ SVC_DATABASE_URL: database.url, SVC_ROLE: 'api', SVC_DATA_DIR: dataDir });
    expect((await api.exited).code).toBe(1);
    expect(api.output()).toContain('a restore has not ended');
  });

  it('is the one of its release for whoever is given the database of a test that has changed it', async () => {
    const spoilt = await cloneDatabase();
    await adminAt(spoilt.url, `delete from kysely_migration where name = '0002_create_operations'`);
    await spoilt.drop();
    const next = await cloneDatabase();
    expect(await checkSchema(direct, next.url)).toBeUndefined();
    await next.drop();
  });
});
