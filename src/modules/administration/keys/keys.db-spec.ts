import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { cloneDatabase, type TestDatabase } from '../../../../test/support/database.js';
import { eventually } from '../../../../test/support/sse.js';
import { sql } from 'kysely';
import { ANYBODY, credentialOf, may, RIGHTS, type Principal } from '../../../contract/principal.js';
import { createDb, createPool, type Db } from '../../../platform/database/database.js';
import { Transactions } from '../../../platform/database/transactions.js';
import { Signals } from '../../../platform/streams/signals.js';
import { Failpoints } from '../../../platform/failpoints/failpoints.js';
import { ensureBootstrapKey } from './bootstrap-key.js';
import { KeyCache } from './key-cache.js';
import { newToken } from './key-token.js';
import { KeysRepository } from './keys.repository.js';
import { KeysService } from './keys.service.js';

describe('API keys', () => {
  let database: TestDatabase;
  let db: Db;
  let dir: string;
  /** As in two processes: each has its own cache. */
  let here: { service: KeysService; cache: KeyCache };
  let there: { service: KeysService; cache: KeyCache };

  beforeAll(async () => {
    database = await cloneDatabase();
    db = createDb(createPool(database.url, { max: 4 }));
    dir = await mkdtemp(join(tmpdir(), 'svc-keys-'));
    here = process();
    there = process();
  });
  afterAll(async () => {
    await db.destroy();
    await database.drop();
    await rm(dir, { recursive: true });
  });

  function process(): { service: KeysService; cache: KeyCache } {
    const repository = new KeysRepository();
    // Nobody tells another process: what it finds out by itself is what counts.
    const silent = { onTopics: () => () => undefined, mark: () => undefined } as unknown as Signals;
    const cache = new KeyCache(db, repository, silent);
    return { cache, service: new KeysService(db, new Transactions(db, new Failpoints()), repository, cache, silent) };
  }

  it('authenticate with the scope and the cities they were made with', async () => {
    const made = await here.service.create(ANYBODY, { name: 'limited', scope: 'read', cities: ['b', 'a', 'b'] });
    expect(made).toMatchObject({ name: 'limited', scope: 'read', cities: ['a', 'b'] });
    expect(made.key).toMatch(/^svc_[0-9a-f]{12}_[\w-]{32}$/);
    const principal = await there.cache.authenticate(made.key);
    expect(principal).toEqual({
      actor: 'limited',
      keyId: made.id,
      credential: expect.stringContaining(made.id),
      scope: 'read',
      cities: ['a', 'b'],
    });
    expect(there.cache.authenticate(made.key)).toEqual(principal);
  });

  it('are stored as hashes only', async () => {
    const made = await here.service.create(ANYBODY, { name: 'secret', scope: 'write' });
    const rows = await db.selectFrom('api_keys').selectAll().where('id', '=', made.id).execute();
    expect(JSON.stringify(rows)).not.toContain(made.key);
    expect(rows[0]?.hash).toHaveLength(32);
    expect(JSON.stringify(await here.service.list(ANYBODY, { limit: 10_000, cursor: undefined }))).not.toContain(made.key.slice(-32));
  });

  it('refuse a wrong secret, an unknown id and what is no key', async () => {
    const { key } = await here.service.create(ANYBODY, { name: 'exact', scope: 'write' });
    const wrong = `${key.slice(0, -1)}${key.endsWith('A') ? 'B' : 'A'}`;
    for (const token of [wrong, `svc_${'0'.repeat(12)}_${'x'.repeat(32)}`, 'svc_', '', `${key} `]) {
      expect(await here.cache.authenticate(token)).toBeUndefined();
    }
    expect(await here.cache.authenticate(key)).toBeDefined();
    expect(await here.cache.authenticate(wrong)).toBeUndefined();
  });

  it('are looked for with one connection, however many callers show what nobody has been given', async () => {
    const pool = createPool(database.url, { max: 4 });
    const own = createDb(pool);
    const cache = new KeyCache(own, new KeysRepository(), { onTopics: () => () => undefined } as unknown as Signals);
    const made = await here.service.create(ANYBODY, { name: 'known', scope: 'read', cities: [] });
    const shown = await Promise.all(
      [...Array.from({ length: 300 }, () => newToken().token), made.key].map(async (token) => cache.authenticate(token)),
    );
    expect([shown.filter((who) => who !== undefined).map((who) => who!.actor), pool.totalCount]).toEqual([['known'], 1]);
    await own.destroy();
  });

  it('stop working when revoked: at once here, within seconds elsewhere', async () => {
    const { id, key } = await here.service.create(ANYBODY, { name: 'leaver', scope: 'write' });
    const principal = (await there.cache.authenticate(key))!;
    expect(await here.cache.authenticate(key)).toBeDefined();
    await here.service.revoke(ANYBODY, id);
    expect(await here.cache.authenticate(key)).toBeUndefined();
    expect(await here.cache.stillValid(credentialOf(principal)!)).toBe(false);
    await eventually(async () => (await there.cache.authenticate(key)) === undefined);
    expect(await there.cache.stillValid(credentialOf(principal)!)).toBe(false);
    await expect(here.service.revoke(ANYBODY, id)).rejects.toMatchObject({ detail: `not_found: no such key: ${id}` });
    await expect(here.service.create(ANYBODY, { name: 'leaver', scope: 'read' })).resolves.toBeDefined();
  });

  it('have the rights they were made with, and only those; all of them are every right', async () => {
    const some = await here.service.create(ANYBODY, { name: 'some', rights: ['commands', 'operate'] });
    expect(some).toMatchObject({ scope: 'read', rights: ['operate', 'commands'] });
    const principal = (await there.cache.authenticate(some.key))!;
    expect(RIGHTS.filter((right) => may(principal, right))).toEqual(['operate', 'commands']);
    const every = await here.service.create(ANYBODY, { name: 'every', rights: ['audit', 'commands', 'operate', 'configure'] });
    expect(every).toMatchObject({ scope: 'write', rights: RIGHTS });
    expect(await here.service.create(ANYBODY, { name: 'plain' })).toMatchObject({ scope: 'write', rights: RIGHTS });
    expect(await here.service.create(ANYBODY, { name: 'none', scope: 'read' })).toMatchObject({ scope: 'read', rights: [] });
    await expect(here.service.create(ANYBODY, { name: 'x', scope: 'write', rights: ['operate'] })).rejects.toMatchObject({
      problem: 'validation_failed',
    });
  });

  // Guard: a key ends when it was said to.
  it('end when they were said to, and are listed with their end', async () => {
    const expires_at = new Date(Date.now() + 3_600_000).toISOString();
    const { id, key } = await here.service.create(ANYBODY, { name: 'guest', scope: 'write', expires_at });
    const principal = (await here.cache.authenticate(key))!;
    expect(await here.cache.stillValid(credentialOf(principal)!)).toBe(true);
    // The clock of a process that has the key in memory, and of the database for one that has not.
    const now = Date.now;
    try {
      Date.now = () => now() + 3_600_001;
      expect(await here.cache.authenticate(key)).toBeUndefined();
      expect(await here.cache.stillValid(credentialOf(principal)!)).toBe(false);
    } finally {
      Date.now = now;
    }
    await sql`update api_keys set expires_at = now() - interval '1 second' where id = ${id}`.execute(db);
    expect(await process().cache.authenticate(key)).toBeUndefined();
    const listed = (await here.service.list(ANYBODY, { limit: 10_000, cursor: undefined })).items!.find((one) => one.id === id)!;
    expect(Date.parse(listed.expires_at!)).toBeLessThan(now());
    await expect(here.service.rotate(ANYBODY, id, { grace_seconds: 0 })).rejects.toMatchObject({
      detail: `conflict: the key ended at ${listed.expires_at}; revoke it and make another`,
    });
    await expect(there.service.create(ANYBODY, { name: 'guest' })).rejects.toMatchObject({
      detail: `conflict: a key is already called guest: ${id}; revoke it first (it ended at ${listed.expires_at})`,
    });
    await here.service.revoke(ANYBODY, id);
    await expect(here.service.rotate(ANYBODY, id, { grace_seconds: 0 })).rejects.toMatchObject({ detail: `not_found: no such key: ${id}` });
    const late = here.service.create(ANYBODY, { name: 'late', expires_at: '2020-01-01T00:00:00Z' });
    await expect(late).rejects.toMatchObject({ problem: 'validation_failed' });
  });

  // Guard: a secret that was replaced is good for its time only.
  it('get a new secret, and the one before is good for a while', async () => {
    const { id, key: first } = await here.service.create(ANYBODY, { name: 'rotated', rights: ['operate'] });
    const before = (await here.cache.authenticate(first))!;
    const { key: second, previous_until } = await here.service.rotate(ANYBODY, id, { grace_seconds: 3_600 });
    expect(Date.parse(previous_until!)).toBeGreaterThan(Date.now());
    expect(await here.cache.authenticate(second)).toMatchObject({ keyId: id, actor: 'rotated', rights: ['operate'] });
    await eventually(async () => (await there.cache.authenticate(second)) !== undefined);
    expect(await there.cache.authenticate(first)).toEqual(before);
    expect(await here.cache.stillValid(credentialOf(before)!)).toBe(true);
    await sql`update api_keys set previous_until = now() - interval '1 second' where id = ${id}`.execute(db);
    const later = process();
    expect([await later.cache.authenticate(first), await later.cache.stillValid(credentialOf(before)!)]).toEqual([undefined, false]);
    expect(await later.cache.authenticate(second)).toBeDefined();
    const { key: third } = await here.service.rotate(ANYBODY, id, { grace_seconds: 0 });
    expect([await here.cache.authenticate(second), await here.cache.authenticate(first)]).toEqual([undefined, undefined]);
    expect(await here.cache.authenticate(third)).toBeDefined();
    await expect(here.service.rotate(ANYBODY, '0'.repeat(12), { grace_seconds: 0 })).rejects.toMatchObject({ problem: 'not_found' });
  });

  // Guard: a secret that was promised a time has it, however often the key is rotated meanwhile.
  it('leave each secret the time that it was promised, when they are rotated again as the answer was lost', async () => {
    const { id, key: first } = await here.service.create(ANYBODY, { name: 'again', scope: 'read' });
    const { key: second, previous_until: end } = await here.service.rotate(ANYBODY, id, { grace_seconds: 3_600 });
    const { key: third } = await here.service.rotate(ANYBODY, id, { grace_seconds: 7_200 });
    const good = async (...keys: readonly string[]): Promise<boolean[]> => {
      const { cache } = process();
      return Promise.all(keys.map(async (key) => (await cache.authenticate(key)) !== undefined));
    };
    expect(await good(first, second, third)).toEqual([true, true, true]);
    const row = await db.selectFrom('api_keys').select('earlier_until').where('id', '=', id).executeTakeFirstOrThrow();
    expect(row.earlier_until?.toISOString()).toBe(end);
    await sql`update api_keys set earlier_until = now() - interval '1 second' where id = ${id}`.execute(db);
    expect(await good(first, second, third)).toEqual([false, true, true]);
    // What has ended takes nobody's place.
    await sql`update api_keys set earlier_until = now() + interval '1 hour', previous_until = now() where id = ${id}`.execute(db);
    const { key: fourth } = await here.service.rotate(ANYBODY, id, { grace_seconds: 3_600 });
    expect(await good(first, second, third, fourth)).toEqual([true, false, true, true]);
    const { key: fifth } = await here.service.rotate(ANYBODY, id, { grace_seconds: 3_600 });
    expect(await good(first, third, fourth, fifth)).toEqual([false, true, true, true]);
    const { key: last } = await here.service.rotate(ANYBODY, id, { grace_seconds: 0 });
    expect(await good(third, fourth, fifth, last)).toEqual([false, false, false, true]);
  });

  it('end all before as a replica of the release before has ended the one before', async () => {
    const { id, key: first } = await here.service.create(ANYBODY, { name: 'mixed', scope: 'read' });
    for (const grace_seconds of [3_600, 3_600]) await here.service.rotate(ANYBODY, id, { grace_seconds });
    await sql`update api_keys set previous_hash = null, previous_until = null where id = ${id}`.execute(db);
    expect(await process().cache.authenticate(first)).toBeUndefined();
    // As that release rotates it: what was ended must not be good again with what is before the new one.
    await sql`update api_keys set previous_hash = hash, previous_until = now() + interval '1 hour', hash = ${Buffer.alloc(32)} where id = ${id}`.execute(
      db,
    );
    expect(await process().cache.authenticate(first)).toBeUndefined();
    await here.service.rotate(ANYBODY, id, { grace_seconds: 3_600 });
    expect(await process().cache.authenticate(first)).toBeUndefined();
  });

  it('have unique names while they work', async () => {
    const { id } = await here.service.create(ANYBODY, { name: 'twin', scope: 'read' });
    await expect(there.service.create(ANYBODY, { name: 'twin', scope: 'read' })).rejects.toMatchObject({
      detail: `conflict: a key is already called twin: ${id}`,
    });
  });

  it('are managed by callers with every right only', async () => {
    const reader: Principal = { ...ANYBODY, scope: 'read' };
    const local: Principal = { ...ANYBODY, cities: ['a'] };
    const some: Principal = { ...reader, rights: ['operate', 'configure'] };
    for (const caller of [reader, local, some]) {
      await expect(here.service.list(caller, { limit: 10_000, cursor: undefined })).rejects.toMatchObject({ problem: 'forbidden' });
      await expect(here.service.create(caller, { name: 'x', scope: 'read' })).rejects.toMatchObject({ problem: 'forbidden' });
      await expect(here.service.rotate(caller, '0'.repeat(12), { grace_seconds: 0 })).rejects.toMatchObject({ problem: 'forbidden' });
      await expect(here.service.revoke(caller, '0'.repeat(12))).rejects.toMatchObject({ problem: 'forbidden' });
    }
  });

  it('note their use', async () => {
    const { id, key } = await here.service.create(ANYBODY, { name: 'used', scope: 'read' });
    await here.cache.authenticate(key);
    await eventually(
      async () =>
        (await here.service.list(ANYBODY, { limit: 10_000, cursor: undefined })).items?.some(
          (k) => k.id === id && k.last_used_at !== null,
        ) === true,
    );
  });

  describe('the first key', () => {
    it('is made once by any number of processes, into a file for its owner only', async () => {
      await db.deleteFrom('api_keys').execute();
      const file = join(dir, 'data', 'admin.key');
      // All of them have begun before the first may look, however long that takes.
      const patient = new URL(database.url);
      patient.searchParams.set('options', '-c lock_timeout=0 -c idle_in_transaction_session_timeout=0');
      const others = createDb(createPool(patient.href, { max: 5 }));
      const waiting = sql`select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`;
      const holding = await others.startTransaction().execute();
      await sql`lock table api_keys in access exclusive mode`.execute(holding);
      const letGo = async (): Promise<void> => {
        await eventually(async () => (await waiting.execute(db)).rows.length === 4);
        await holding.commit().execute();
      };
      const [made] = await Promise.all([Promise.all([1, 2, 3, 4].map(() => ensureBootstrapKey(others, file))), letGo()]);
      await others.destroy();
      expect(made.filter(Boolean)).toHaveLength(1);
      expect((await stat(file)).mode & 0o777).toBe(0o600);
      const principal = await process().cache.authenticate((await readFile(file, 'utf8')).trim());
      expect(principal).toMatchObject({ scope: 'write', cities: undefined });
      expect(await ensureBootstrapKey(db, file)).toBe(false);
    });

    it('does not exist when its file cannot be written', async () => {
      await db.deleteFrom('api_keys').execute();
      await writeFile(join(dir, 'plain'), '');
      await expect(ensureBootstrapKey(db, join(dir, 'plain', 'admin.key'))).rejects.toThrow();
      expect(await db.selectFrom('api_keys').selectAll().execute()).toEqual([]);
    });
  });
});
