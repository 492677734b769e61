import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { sql, type Kysely } from 'kysely';
import { cloneDatabase, type TestDatabase } from '../../../test/support/database.js';
import { plansOf, rowsRead } from '../../../test/support/plans.js';
import { eventually } from '../../../test/support/sse.js';
import { createDb, createPool, type Database, type Db } from '../database/database.js';
import { Transactions, type Tx } from '../database/transactions.js';
import { Failpoints } from '../failpoints/failpoints.js';
import { Idempotency, type IdempotencyRef } from './idempotency.js';
import { IdempotencyRepository } from './idempotency.repository.js';

describe('idempotency keys', () => {
  let database: TestDatabase;
  let db: Db;
  let transactions: Transactions;
  const keys = new Idempotency(new IdempotencyRepository());
  const other = new Idempotency(new IdempotencyRepository());
  let made = 0;
  const ref = (change: Partial<IdempotencyRef> = {}): IdempotencyRef => ({
    scope: '',
    operation: 'create-city',
    key: `k${++made}`,
    body: { dir: 'a', provider: 'loopback' },
    ...change,
  });
  const age = (r: IdempotencyRef, interval: string) =>
    sql`update idempotency_keys set created_at = now() - ${interval}::interval where key = ${r.key}`.execute(db);

  const waiting = async (): Promise<number> =>
    (await sql`select 1 from pg_stat_activity where datname = current_database() and wait_event = 'advisory'`.execute(db)).rows.length;

  beforeAll(async () => {
    database = await cloneDatabase();
    db = createDb(createPool(database.url, { max: 20 }));
    transactions = new Transactions(db, new Failpoints());
  });
  afterAll(async () => {
    await db.destroy();
    await database.drop();
  });

  it('replays the stored answer with its members in their order, and works once', async () => {
    const r = ref();
    const body = { request_id: 'req-1', event_cursor: 'z:1', a: 1 };
    let effects = 0;
    const once = () => transactions.run((tx) => keys.run(tx, r, async () => ({ status: 202, body: (effects++, body) })));
    expect(await once()).toEqual({ status: 202, body, replayed: false });
    const again = await once();
    expect(again).toEqual({ status: 202, body, replayed: true });
    expect(JSON.stringify(again.body)).toBe(JSON.stringify(body));
    expect(effects).toBe(1);
    expect(await keys.lookup(db, { ...r, body: { provider: 'loopback', dir: 'a' } })).toEqual({ status: 202, body });
  });

  it('refuses another body', async () => {
    const r = ref();
    await transactions.run((tx) => keys.run(tx, r, async () => ({ status: 201, body: {} })));
    const mismatch = {
      problem: 'idempotency_mismatch',
      detail: 'idempotency_mismatch: Idempotency-Key reused with different request body',
    };
    await expect(keys.lookup(db, { ...r, body: { dir: 'b' } })).rejects.toMatchObject(mismatch);
    await expect(transactions.run((tx) => keys.guard(tx, { ...r, body: { dir: 'b' } }))).rejects.toMatchObject(mismatch);
  });

  it('keeps scopes and operations apart', async () => {
    const r = ref();
    await transactions.run((tx) => keys.run(tx, r, async () => ({ status: 201, body: { n: 1 } })));
    expect(await keys.lookup(db, { ...r, scope: 'alpha' })).toBeUndefined();
    expect(await keys.lookup(db, { ...r, operation: 'emit-event' })).toBeUndefined();
  });

  it('stores nothing for work that fails', async () => {
    const r = ref();
    const failing = transactions.run((tx) => keys.run(tx, r, () => Promise.reject(new Error('no'))));
    await expect(failing).rejects.toThrow('no');
    expect(await transactions.run((tx) => keys.run(tx, r, async () => ({ status: 201, body: {} })))).toMatchObject({ replayed: false });
  });

  it('does without a key', async () => {
    for (const none of [undefined, ref({ key: '' }), ref({ key: '' })]) {
      expect(await transactions.run((tx) => keys.run(tx, none, async () => ({ status: 201, body: {} })))).toMatchObject({
        replayed: false,
      });
    }
  });

  it('has one effect and one answer for fifty at once', async () => {
    const r = ref();
    let effects = 0;
    const results = await Promise.allSettled(
      Array.from({ length: 50 }, (_, i) =>
        transactions.run((tx) => (i % 2 ? keys : other).run(tx, r, async () => ({ status: 202, body: { effect: ++effects } }))),
      ),
    );
    const answers = results.flatMap((x) => (x.status === 'fulfilled' ? [x.value] : []));
    const refusals = results.flatMap((x) => (x.status === 'rejected' ? [(x.reason as { problem: string }).problem] : []));
    expect(effects).toBe(1);
    expect(new Set(answers.map((a) => JSON.stringify(a.body)))).toEqual(new Set(['{"effect":1}']));
    expect(answers.filter((a) => !a.replayed)).toHaveLength(1);
    expect(refusals.filter((p) => p !== 'idempotency_in_flight')).toEqual([]);
  });

  // Guard: the key's lock, which whoever works under it holds to its commit.
  it('refuses a second one while the first is at work', async () => {
    const r = ref();
    const first = await transactions.run((tx) =>
      keys.run(tx, r, async () => {
        const second = transactions.run((own) => other.run(own, r, async () => ({ status: 202, body: { by: 'the second' } })));
        await expect(second).rejects.toMatchObject({ problem: 'idempotency_in_flight' });
        return { status: 202, body: { by: 'the first' } };
      }),
    );
    expect(first).toEqual({ status: 202, body: { by: 'the first' }, replayed: false });
  });

  it('forgets an answer after 24 hours, not before', async () => {
    const r = ref();
    const use = () => transactions.run((tx) => keys.run(tx, r, async () => ({ status: 201, body: {} })));
    await use();
    await age(r, '23 hours 59 minutes');
    expect(await use()).toMatchObject({ replayed: true });
    await transactions.run((tx) => keys.purge(tx, 100));
    expect(await use()).toMatchObject({ replayed: true });
    await age(r, '24 hours 1 minute');
    expect(await use()).toMatchObject({ replayed: false });
    await age(r, '25 hours');
    expect(await transactions.run((tx) => keys.purge(tx, 100))).toBe(1);
  });

  // Guard: what deletes answers reads those whose life is over, and no others.
  it('reads no more to delete the oldest answers than it deletes, however many there are', async () => {
    await sql`insert into idempotency_keys (scope, operation, key, body_hash, status, body, created_at)
      select '', 'old', n, '', 201, '{}', now() - interval '25 hours' from generate_series(1, 2000) n`.execute(db);
    const pool = createPool(database.url, { max: 2 });
    const purge = (own: Kysely<Database>): Promise<number> => keys.purge(own as Tx, 10);
    const nodes = await plansOf(pool, purge, 'only');
    await pool.end();
    expect(rowsRead(nodes, 'idempotency_keys')).toBeLessThanOrEqual(20);
    await sql`delete from idempotency_keys where operation = 'old'`.execute(db);
  });

  describe('held over several transactions', () => {
    it('refuses others until the holder has stored its answer', async () => {
      const r = ref();
      expect(await transactions.run((tx) => keys.hold(tx, r, 'req-a'))).toBeUndefined();
      await expect(transactions.run((tx) => other.hold(tx, r, 'req-b'))).rejects.toMatchObject({ problem: 'idempotency_in_flight' });
      await transactions.run(async (tx) => {
        expect(await keys.regain(tx, r, 'req-a')).toBeUndefined();
        await keys.store(tx, r, { status: 202, body: { by: 'a' } });
      });
      expect(await transactions.run((tx) => other.hold(tx, r, 'req-b'))).toEqual({ status: 202, body: { by: 'a' } });
    });

    it('frees the key when the holder gives up or dies', async () => {
      const r = ref();
      await transactions.run((tx) => keys.hold(tx, r, 'req-a'));
      await transactions.run((tx) => keys.release(tx, r, 'req-b'));
      await expect(transactions.run((tx) => other.guard(tx, r))).rejects.toMatchObject({ problem: 'idempotency_in_flight' });
      await transactions.run((tx) => keys.release(tx, r, 'req-a'));
      expect(await transactions.run((tx) => other.hold(tx, r, 'req-b', 1))).toBeUndefined();
      await new Promise((resolve) => setTimeout(resolve, 20));
      expect(await transactions.run((tx) => keys.hold(tx, r, 'req-c'))).toBeUndefined();
    });

    it('does not refuse the holder because a repeat is being refused', async () => {
      const r = ref();
      await transactions.run((tx) => keys.hold(tx, r, 'req-a'));
      let regained!: Promise<unknown>;
      const repeat = transactions.run(async (tx) => {
        const refused = await other.guard(tx, r).catch((error: unknown) => error);
        // The repeat has the key's lock; its transaction goes on until the holder waits for it.
        regained = transactions.run((own) => keys.regain(own, r, 'req-a'));
        await eventually(async () => (await waiting()) > 0);
        throw refused as Error;
      });
      await expect(repeat).rejects.toMatchObject({ problem: 'idempotency_in_flight' });
      expect(await regained).toBeUndefined();
    });

    it('keeps for a day what parts of the effect have come to, for who goes on with the same request', async () => {
      const r = ref();
      const held = (owner: string, as = r): Promise<unknown> =>
        transactions.run(async (tx) => {
          expect(await other.hold(tx, as, owner)).toBeUndefined();
          return other.kept(tx, as);
        });
      expect(await held('req-a')).toBeUndefined();
      await transactions.run((tx) => keys.keep(tx, r, 'req-a', ['one']));
      await transactions.run((tx) => keys.keep(tx, r, 'req-a', ['one', 'two']));
      await expect(held('req-b')).rejects.toMatchObject({ problem: 'idempotency_in_flight' });
      const end = (owner: string): Promise<void> => transactions.run((tx) => keys.release(tx, r, owner));
      await end('req-a');
      expect(await held('req-b')).toEqual(['one', 'two']);
      await end('req-b');
      const ended = (before: string): Promise<unknown> =>
        sql`update idempotency_holds set expires_at = now() - ${before}::interval where key = ${r.key}`.execute(db);
      await ended('23 hours');
      await transactions.run((tx) => keys.purge(tx, 10));
      expect(await held('req-c')).toEqual(['one', 'two']);
      await ended('24 hours');
      expect(await held('req-d')).toBeUndefined();
      await transactions.run((tx) => keys.keep(tx, r, 'req-d', ['one']));
      await end('req-d');
      expect(await held('req-e', { ...r, body: {} })).toBeUndefined();
    });

    it('counts no part of a holder that has lost the key, and every one beside a repeat that only looks', async () => {
      const r = ref();
      await transactions.run((tx) => keys.hold(tx, r, 'req-a'));
      await transactions.run(async (tx) => {
        await expect(other.hold(tx, r, 'req-b')).rejects.toMatchObject({ problem: 'idempotency_in_flight' });
        // The repeat has the key's lock.
        await transactions.run((own) => keys.keep(own, r, 'req-a', 1));
      });
      await sql`update idempotency_holds set expires_at = now() where key = ${r.key}`.execute(db);
      await transactions.run((tx) => other.hold(tx, r, 'req-b'));
      await expect(transactions.run((tx) => keys.keep(tx, r, 'req-a', 2))).rejects.toMatchObject({ problem: 'idempotency_in_flight' });
      expect(await transactions.run((tx) => other.kept(tx, r))).toBe(1);
    });

    it('lets only one of two late holders have its effect', async () => {
      const r = ref();
      await transactions.run((tx) => keys.hold(tx, r, 'req-a', 1));
      await new Promise((resolve) => setTimeout(resolve, 20));
      await transactions.run((tx) => other.hold(tx, r, 'req-b'));
      await expect(transactions.run((tx) => keys.guard(tx, r, 'req-a'))).rejects.toMatchObject({ problem: 'idempotency_in_flight' });
      await transactions.run((tx) => other.store(tx, r, { status: 202, body: {} }));
      await expect(transactions.run((tx) => keys.store(tx, r, { status: 202, body: {} }))).rejects.toMatchObject({
        problem: 'idempotency_in_flight',
      });
    });
  });
});
