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

/** What the condition says of each preset, asked in one statement. */
async function answers(service: ProviderHostsService, processId: string, presets: (string | null)[]): Promise<boolean[]> {
  const { rows } = await sql<{ ready: boolean }>`
    select ${service.readyCondition(processId, sql`s.preset`)} as ready
    from unnest(${presets}::text[]) with ordinality as s (preset, n) order by n`.execute(db);
  return rows.map(({ ready }) => ready);
}

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
    ['here', undefined, 'ready'],
  ])('%s for %s is %s', async (processId, preset, expected) => {
    expect(await hosts().hostReady(db, processId, preset)).toBe(expected);
    expect(await answers(hosts(), processId, [preset ?? null])).toEqual([expected === 'ready']);
  });

  it('is told for many presets at once', async () => {
    expect(await hosts().notReady(db, 'here', ['claude', 'codex', 'amp', 'loopback', 'gemini'])).toEqual(
      new Map([
        ['codex', 'needs_auth: sign in with codex login'],
        ['amp', 'not_installed'],
      ]),
    );
    expect(await answers(hosts(), 'here', ['claude', 'codex', null, 'amp', 'loopback'])).toEqual([true, false, true, false, true]);
  });

  it('is not asked for when the check is off', async () => {
    expect(await hosts('off').hostReady(db, 'here', 'codex')).toBe('ready');
    expect(await answers(hosts('off'), 'here', ['codex'])).toEqual([true]);
  });
});
