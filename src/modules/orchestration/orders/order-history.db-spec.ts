import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { sql } from 'kysely';
import { cloneDatabase, type TestDatabase } from '../../../../test/support/database.js';
import { registerCity } from '../../../../test/support/registry.js';
import { createDb, createPool, type Db } from '../../../platform/database/database.js';
import { OrderHistory } from './order-history.js';
import { OrderHistoryRepository } from './order-history.repository.js';
import { DeliveriesRepository } from './webhooks/deliveries.repository.js';

let database: TestDatabase;
let db: Db;
const streams: Record<string, number> = {};
beforeAll(async () => {
  database = await cloneDatabase();
  db = createDb(createPool(database.url, { max: 4 }));
  for (const city of ['alpha', 'beta']) streams[city] = (await registerCity(db, city, `/c/${city}`)).streamId;
});
afterAll(async () => {
  await db.destroy();
  await database.drop();
});
beforeEach(async () => {
  await sql`delete from order_firings`.execute(db);
  await sql`delete from order_cities`.execute(db);
  await sql`delete from orders`.execute(db);
});

const history = (): OrderHistory => new OrderHistory(new OrderHistoryRepository(db), new DeliveriesRepository(db));

/** So many firings of an order that ended a day after each other, the last one today; each day's is known by its number of days. */
async function fired(city: string, order: string, days: number): Promise<void> {
  await sql`insert into orders (stream_id, scoped_name, name, rig, definition, enabled, created_at)
    values (${streams[city]}, ${order}, ${order}, '', '{}', true, now())`.execute(db);
  await sql`
    insert into order_firings (id, stream_id, scoped_name, name, rig, definition, cause, actor, state, created_at, finished_at, outcome)
    select ${`${city}-${order}-`}::text || d, ${streams[city]}, ${order}, ${order}, '', '{}', 'cron', 'orders', 'done', now(), now() - d * interval '1 day', 'success'
    from generate_series(${days}::int - 1, 0, -1) d`.execute(db);
}
const left = async (city: string, order: string): Promise<{ count: number; oldest: number }> => {
  const { rows } = await sql<{ count: number; oldest: number }>`
    select count(*)::int as count, max(split_part(id, '-', 3)::int) as oldest from order_firings where stream_id = ${streams[city]} and scoped_name = ${order}`.execute(
    db,
  );
  return rows[0]!;
};

describe('what is over of orders', () => {
  it('is kept for a month, and the last ten of each order always', async () => {
    await fired('alpha', 'nightly', 60);
    await fired('beta', 'rare', 40);
    await sql`update order_firings set finished_at = finished_at - interval '1 year' where scoped_name = 'rare'`.execute(db);
    await history().pass();
    expect([await left('alpha', 'nightly'), await left('beta', 'rare')]).toEqual([
      { count: 30, oldest: 29 },
      { count: 10, oldest: 9 },
    ]);
  });

  it('is kept for as long as its city says', async () => {
    await sql`insert into order_cities (stream_id, history_ms) values (${streams.beta}, ${20 * 86_400_000})`.execute(db);
    await fired('alpha', 'nightly', 25);
    await fired('beta', 'nightly', 25);
    await history().pass();
    expect([await left('alpha', 'nightly'), await left('beta', 'nightly')]).toEqual([
      { count: 25, oldest: 24 },
      { count: 20, oldest: 19 },
    ]);
  });

  // Guard: one batch a pass would be sixteen firings a second of all cities.
  it('goes in one pass, in steps', async () => {
    for (const order of ['a', 'b', 'c', 'd', 'e']) await fired('alpha', order, 50);
    await history().pass(undefined, { orders: 2, each: 100, firings: 15 });
    for (const order of ['a', 'b', 'c', 'd', 'e']) expect(await left('alpha', order)).toEqual({ count: 30, oldest: 29 });
  });

  it('goes on where the pass before has ended', async () => {
    const orders = Array.from({ length: 15 }, (_, n) => `o${String(n).padStart(2, '0')}`);
    for (const order of orders) await fired('alpha', order, 31);
    const one = history();
    await one.pass(undefined, { orders: 1, each: 100, firings: 100 });
    expect([(await left('alpha', 'o09')).count, (await left('alpha', 'o10')).count]).toEqual([30, 31]);
    await one.pass(undefined, { orders: 1, each: 100, firings: 100 });
    expect((await left('alpha', 'o14')).count).toBe(30);
  });

  it('does not have what is kept for long read, whatever another city says', async () => {
    await sql`insert into order_cities (stream_id, history_ms) values (${streams.beta}, 1000)`.execute(db);
    const orders = Array.from({ length: 20 }, (_, n) => `o${n}`);
    for (const order of orders) await fired('alpha', order, 1);
    await fired('beta', 'nightly', 1);
    await sql`
      insert into order_firings (id, stream_id, scoped_name, name, rig, definition, cause, actor, state, created_at, finished_at, outcome)
      select o || '-x' || d, ${streams.alpha}, o, o, '', '{}', 'cron', 'orders', 'done', now(), now() - interval '1 hour', 'success'
      from generate_series(1, 1000) d, unnest(${orders}::text[]) o`.execute(db);
    await sql`analyze order_firings`.execute(db);
    const read = async (): Promise<number> => {
      const { rows } = await sql<{ n: number }>`
        select (idx_tup_fetch + seq_tup_read)::int as n from pg_stat_xact_user_tables where relname = 'order_firings'`.execute(tx!);
      return rows[0]!.n;
    };
    let tx: Db | undefined;
    await db.transaction().execute(async (within) => {
      tx = within as unknown as Db;
      const before = await read();
      await new OrderHistory(new OrderHistoryRepository(tx), new DeliveriesRepository(tx)).pass();
      expect((await read()) - before).toBeLessThan(20 * 15);
    });
  });
});

describe('an order that is in no file any more', () => {
  const orders = async (): Promise<string[]> => {
    const { rows } = await sql<{ name: string }>`select scoped_name as name from orders order by stream_id, scoped_name`.execute(db);
    return rows.map(({ name }) => name);
  };
  const gone = async (days: number, ...names: string[]): Promise<void> => {
    await sql`
      update orders set present = false, gone_at = now() - ${days}::int * interval '1 day' where scoped_name = any(${names}::text[])`.execute(
      db,
    );
  };
  const old = async (...names: string[]): Promise<void> => {
    await sql`update order_firings set finished_at = finished_at - interval '1 year' where scoped_name = any(${names}::text[])`.execute(db);
  };

  it('goes with its history when it has been gone for as long as that is kept', async () => {
    for (const order of ['back', 'late', 'new', 'old']) await fired('alpha', order, 12);
    await gone(31, 'late', 'old');
    await gone(29, 'new');
    await old('back', 'new', 'old');
    await history().pass();
    expect(await orders()).toEqual(['back', 'late', 'new']);
    expect([await left('alpha', 'old'), await left('alpha', 'late'), await left('alpha', 'new')]).toMatchObject([
      { count: 0 },
      { count: 12 },
      { count: 10 },
    ]);
  });

  it('stays as long as its city keeps history', async () => {
    await sql`insert into order_cities (stream_id, history_ms) values (${streams.beta}, ${60 * 86_400_000})`.execute(db);
    for (const city of ['alpha', 'beta']) await fired(city, 'rare', 1);
    await gone(40, 'rare');
    await sql`update order_firings set finished_at = now() - interval '61 days'`.execute(db);
    await history().pass();
    expect([(await left('alpha', 'rare')).count, (await left('beta', 'rare')).count]).toEqual([0, 1]);
  });

  // Guard: when it went may have been noted before it came back, by the release before, or a firing took long.
  it('stays until the last of its history is as old', async () => {
    await sql`insert into order_cities (stream_id, history_ms) values (${streams.beta}, ${60 * 86_400_000})`.execute(db);
    for (const city of ['alpha', 'beta']) await fired(city, 'back', 2);
    await fired('alpha', 'over', 2);
    await gone(100, 'back', 'over');
    await sql`update order_firings set finished_at = finished_at - interval '31 days' where stream_id = ${streams.beta} or scoped_name = 'over'`.execute(
      db,
    );
    await history().pass();
    expect([await left('alpha', 'back'), await left('beta', 'back'), await left('alpha', 'over')]).toMatchObject([
      { count: 2 },
      { count: 2 },
      { count: 0 },
    ]);
  });

  it('stays while something of it is open, or waits for it', async () => {
    for (const order of ['asked', 'open', 'over']) await fired('alpha', order, 2);
    await gone(40, 'asked', 'open', 'over');
    await old('asked', 'open', 'over');
    await sql`update order_firings set state = 'running', outcome = null, finished_at = null where scoped_name = 'open' and id like '%-0'`.execute(
      db,
    );
    await sql`
      insert into webhook_deliveries (stream_id, hook, delivery, scoped_name, firing_id, vars, waiting, received_at, expires_at)
      values (${streams.alpha}, 'h', 'd', 'asked', 'f', '{}', true, now(), now())`.execute(db);
    await history().pass();
    expect(await orders()).toEqual(['asked', 'open']);
    await sql`delete from webhook_deliveries`.execute(db);
  });

  it('is noted to be gone when nobody has', async () => {
    await fired('alpha', 'old', 2);
    await sql`update orders set present = false`.execute(db);
    await history().pass();
    const { rows } = await sql<{ noted: boolean }>`select gone_at > now() - interval '1 minute' as noted from orders`.execute(db);
    expect(rows).toEqual([{ noted: true }]);
  });
});
