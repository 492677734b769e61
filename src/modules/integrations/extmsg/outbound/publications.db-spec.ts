import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { sql } from 'kysely';
import { cloneDatabase, type TestDatabase } from '../../../../../test/support/database.js';
import { plansOf, rowsRead } from '../../../../../test/support/plans.js';
import { createDb, createPool, type Db, type PgPool } from '../../../../platform/database/database.js';
import type { Tx } from '../../../../platform/database/transactions.js';
import { PublicationsRepository } from './publications.repository.js';

const EACH = 5;
const OFFERS = 3;

describe('messages that go out', () => {
  let database: TestDatabase;
  let pool: PgPool;
  let db: Db;
  let repository: PublicationsRepository;

  beforeEach(async () => {
    database = await cloneDatabase();
    pool = createPool(database.url);
    db = createDb(pool);
    repository = new PublicationsRepository(db);
  });
  afterEach(async () => {
    await db.destroy();
    await database.drop();
  });

  /** Conversations of a city, each with a message that waits; so many of each adapter. */
  const waiting = (city: string, adapters: number, conversations: number) =>
    sql`
    with s as (insert into event_streams (name) values (${city}) returning id),
    y as (insert into cities (name, dir, stream_id, running, phase) select ${city}, ${`/${city}`}, id, true, 'running' from s),
    a as (
      insert into extmsg_adapters (stream_id, provider, account_id, name, callback_url, token_hash)
      select id, 'slack', 'a' || n, 'n', 'http://127.0.0.1:1', '' from s, generate_series(1, ${adapters}::int) n returning stream_id, account_id),
    c as (
      insert into extmsg_conversations (stream_id, key, scope_id, provider, account_id, conversation_id, parent_conversation_id, kind)
      select stream_id, convert_to(account_id || '/' || n, 'UTF8'), 's', 'slack', account_id, n::text, '', 'room'
      from a, generate_series(1, ${conversations}::int) n returning pk, stream_id, account_id, conversation_id)
    insert into extmsg_deliveries (stream_id, conversation_pk, id, direction, body, deadline)
    select stream_id, pk, ${city}::text || '-' || account_id || '-' || conversation_id, 'outbound', 'x', now() + interval '1 hour' from c`.execute(
      db,
    );

  const claim = async (room: number, open: number): Promise<Record<string, number>> => {
    const taken = await db.transaction().execute((tx) => repository.claim(tx, 'w', { room, open }, 60_000, OFFERS));
    const cities = taken.map(({ id }) => id.slice(0, id.indexOf('-')));
    return Object.fromEntries([...new Set(cities)].sort().map((city) => [city, cities.filter((other) => other === city).length]));
  };

  it('are few at once of each adapter', async () => {
    await waiting('alpha', 2, EACH + 1);
    expect(await claim(100, 100)).toEqual({ alpha: 8 });
    expect(await claim(100, 100)).toEqual({});
  });

  // Guard: the last calls of a worker are for cities of which none is under way.
  it('leave the last places of a worker to cities that have none under way, however many adapters another has', async () => {
    await waiting('alpha', 6, EACH);
    await waiting('beta', 1, 2);
    expect(await claim(10, 6)).toEqual({ alpha: 4, beta: 2 });
    expect(await claim(4, 0)).toEqual({});
    await waiting('gamma', 1, 2);
    expect(await claim(4, 0)).toEqual({ gamma: 1 });
    expect(await claim(4, 2)).toEqual({ alpha: 1, gamma: 1 });
  });

  const isDue = async (): Promise<boolean | null> =>
    (await sql<{ due: boolean | null }>`select ${repository.isDue} as due`.execute(db)).rows[0]!.due;

  // Guard: a city that is stopped, or is none any more, says nothing to anybody outside.
  it.each([
    ['is stopped', sql`update cities set running = false where name = 'alpha'`],
    ['is unregistered', sql`delete from cities where name = 'alpha'`],
  ])('wait for their deadline, and for no worker, while their city %s', async (_, stop) => {
    await waiting('alpha', 1, 2);
    await stop.execute(db);
    expect([await isDue(), await claim(10, 10)]).toEqual([null, {}]);
    await waiting('beta', 1, 1);
    expect([await isDue(), await claim(10, 10)]).toEqual([true, { beta: 1 }]);
    await sql`update extmsg_deliveries set state = 'delivered', worker = null where id like 'beta%'`.execute(db);
    await sql`update extmsg_deliveries set deadline = now() where id = 'alpha-a1-2'`.execute(db);
    expect([await isDue(), await claim(10, 10)]).toEqual([true, { alpha: 1 }]);
    await sql`update extmsg_deliveries set state = 'failed', worker = null where id = 'alpha-a1-2'`.execute(db);
    expect(await isDue()).toBe(null);
    await sql`update cities set running = true`.execute(db);
    expect(await isDue()).toBe(_ === 'is stopped' ? true : null);
  });

  /** What waits behind the first of each conversation. */
  const behind = (count: number) =>
    sql`
    insert into extmsg_deliveries (stream_id, conversation_pk, id, direction, body, deadline)
    select stream_id, pk, 'behind-' || pk || '-' || n, 'outbound', 'x', now() + interval '1 hour'
    from extmsg_conversations, generate_series(1, ${count}::int) n`.execute(db);

  // Guard: a conversation may have very much that waits, and it is looked at each second.
  it.each(['before', 'after'])(
    'are the oldest of each conversation, found without reading all that waits, %s the table is analyzed',
    async (when) => {
      await waiting('alpha', 2, 1);
      await behind(3_000);
      if (when === 'after') await sql`analyze extmsg_deliveries`.execute(db);
      const turn = (on: Db): Promise<unknown> => repository.claim(on as unknown as Tx, 'w', { room: 10, open: 10 }, 60_000, OFFERS);
      for (const asked of [(on: Db) => sql`select ${repository.isDue}`.execute(on), turn])
        expect(rowsRead(await plansOf(pool, asked), 'extmsg_deliveries')).toBeLessThan(30);
      const { rows } = await sql<{ id: string }>`select id from extmsg_deliveries where worker = 'w' order by id`.execute(db);
      expect(rows.map(({ id }) => id)).toEqual(['alpha-a1-1', 'alpha-a2-1']);
      expect(await claim(10, 10)).toEqual({});
      await sql`update extmsg_deliveries set state = 'delivered', worker = null where id = 'alpha-a1-1'`.execute(db);
      expect(await claim(10, 10)).toEqual({ behind: 1 });
    },
  );
});
