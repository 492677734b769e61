import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { sql } from 'kysely';
import { cloneDatabase, type TestDatabase } from '../../../../test/support/database.js';
import type { AppConfig } from '../../../platform/config/config.js';
import { createDb, createPool, type Db } from '../../../platform/database/database.js';
import { ProviderHostsService } from './provider-hosts.service.js';
import { ProvidersRepository } from './providers.repository.js';

let database: TestDatabase;
let db: Db;
const hosts = (providerCheck: 'enforce' | 'off' = 'enforce'): ProviderHostsService =>
  new ProviderHostsService(new ProvidersRepository(), { providerCheck } as AppConfig);

beforeAll(async () => {
  database = await cloneDatabase();
  db = createDb(createPool(database.url, { max: 2 }));
  await sql`insert into processes (id, role, hostname, version) values ('here', 'worker', 'h', '1'), ('there', 'worker', 't', '1')`.execute(
    db,
  );
});
afterAll(async () => {
  await db.destroy();
  await database.drop();
});
beforeEach(async () => {
  await sql`truncate provider_readiness`.execute(db);
  await sql`
    insert into provider_readiness (process_id, item, status, detail, checked_at) values
      ('here', 'claude', 'configured', null, now()),
      ('here', 'codex', 'needs_auth', 'sign in with codex login', now()),
      ('here', 'amp', 'not_installed', null, now()),
      ('here', 'loopback', 'not_installed', null, now()),
      ('there', 'claude', 'not_installed', null, now()),
      ('there', 'codex', 'configured', null, now())`.execute(db);
});

describe('the readiness of a host', () => {
  it.each([
    ['here', 'claude', 'ready'],
    ['there', 'claude', 'not_installed'],
    ['here', 'codex', 'needs_auth: sign in with codex login'],
    ['there', 'codex', 'ready'],
    ['here', 'gemini', 'ready'],
    ['nowhere', 'codex', 'ready'],
    ['here', 'loopback', 'ready'],
    ['here', 'my-own', 'ready'],
  ])('%s for %s is %s', async (processId, preset, expected) => {
    expect((await hosts().notReady(db, processId, [preset])).get(preset) ?? 'ready').toBe(expected);
  });

  it('is told for many presets at once', async () => {
    expect(await hosts().notReady(db, 'here', ['claude', 'codex', 'amp', 'loopback', 'gemini'])).toEqual(
      new Map([
        ['codex', 'needs_auth: sign in with codex login'],
        ['amp', 'not_installed'],
      ]),
    );
  });

  it('is not asked for when the check is off', async () => {
    expect(await hosts('off').notReady(db, 'here', ['codex'])).toEqual(new Map());
  });
});
