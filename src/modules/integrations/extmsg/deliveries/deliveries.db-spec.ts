import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { sql, type Kysely } from 'kysely';
import { cloneDatabase, type TestDatabase } from '../../../../../test/support/database.js';
import { eventually } from '../../../../../test/support/sse.js';
import { plansOf, rowsRead } from '../../../../../test/support/plans.js';
import { createDb, createPool, type Database, type Db, type PgPool } from '../../../../platform/database/database.js';
import { Transactions, type Tx } from '../../../../platform/database/transactions.js';
import { Failpoints } from '../../../../platform/failpoints/failpoints.js';
import { DeliveriesRepository, type DeliveryFilter } from './deliveries.repository.js';

describe('what waits for members', () => {
  const repository = new DeliveriesRepository();
  let database: TestDatabase;
  let pool: PgPool;
  let db: Db;

  beforeEach(async () => {
    database = await cloneDatabase();
    pool = createPool(database.url);
    db = createDb(pool);
    for (const city of ['alpha', 'beta', 'gamma'])
      await sql`
        with s as (insert into event_streams (name) values (${city}) returning id)
        insert into extmsg_conversations (stream_id, key, scope_id, provider, account_id, conversation_id, parent_conversation_id, kind)
        select id, 'k', 's', 'slack', 'a', 'c', '', 'room' from s`.execute(db);
  });
  afterEach(async () => {
    await db.destroy();
    await database.drop();
  });

  /** Ids are `city-member-n`, oldest first. */
  const wait = (city: string, member: string, count: number, from = 1): Promise<unknown> =>
    sql`
      insert into extmsg_deliveries (stream_id, conversation_pk, id, direction, sequence, selector, body, deadline)
      select c.stream_id, c.pk, concat_ws('-', ${city}::text, ${member}::text, n), 'inbound', n, ${member}, 'x', now() + interval '1 hour'
      from event_streams e join extmsg_conversations c on c.stream_id = e.id, generate_series(${from}::int, ${from + count - 1}::int) n
      where e.name = ${city}`.execute(db);
  const conversationOf = async (city: string): Promise<{ pk: number; stream_id: number }> =>
    (
      await sql<{ pk: number; stream_id: number }>`
        select c.pk, c.stream_id from extmsg_conversations c join event_streams e on e.id = c.stream_id where e.name = ${city}`.execute(db)
    ).rows[0]!;
  const join = (at: { pk: number; stream_id: number }, selector: string, on: Kysely<Database> = db): Promise<unknown> =>
    sql`
      insert into extmsg_memberships (stream_id, conversation_pk, selector, owners, joined_sequence)
      values (${at.stream_id}, ${at.pk}, ${selector}, '{group}', 0)`.execute(on);
  const due = async (limit = 100): Promise<string[]> => (await repository.due(db, limit)).map(({ id }) => id);
  const isDue = async (): Promise<boolean | null> =>
    (await sql<{ due: boolean | null }>`select ${repository.isDue} as due`.execute(db)).rows[0]!.due;

  it('is the oldest of each, the oldest first, and not what comes after one whose time has not come', async () => {
    expect([await isDue(), await due()]).toEqual([null, []]);
    await wait('beta', 'm', 2);
    await wait('alpha', 'n', 2);
    await wait('gamma', 'm', 1);
    await wait('alpha', 'm', 1);
    await wait('beta', 'M', 1);
    const all = ['beta-m-1', 'alpha-n-1', 'gamma-m-1', 'alpha-m-1', 'beta-M-1'];
    expect([await isDue(), await due()]).toEqual([true, all]);
    expect(await due(2)).toEqual(all.slice(0, 2));
    await sql`update extmsg_deliveries set not_before = now() + interval '1 hour' where id = 'alpha-n-1'`.execute(db);
    await sql`update extmsg_deliveries set state = 'delivered' where id = 'beta-m-1'`.execute(db);
    await sql`update extmsg_deliveries set direction = 'outbound' where id = 'gamma-m-1'`.execute(db);
    expect(await due()).toEqual(['beta-m-2', 'alpha-m-1', 'beta-M-1']);
  });

  // Guard: a city of which many are due has no more places than it needs where others have some.
  it('of each city in turn, where there are more than are asked for', async () => {
    for (let n = 1; n <= 100; n++) await wait('alpha', `m-${n}`, 2);
    await wait('beta', 'm', 1);
    await wait('gamma', 'm', 1);
    expect(await due(4)).toEqual(['alpha-m-1-1', 'alpha-m-2-1', 'beta-m-1', 'gamma-m-1']);
    const all = await due();
    expect([all.length, all.slice(-2)]).toEqual([100, ['beta-m-1', 'gamma-m-1']]);
  });

  it('is what was not tried yet before what was, and what was tried last at the end', async () => {
    for (let n = 1; n <= 3; n++) await wait('alpha', `m-${n}`, 1);
    for (let n = 1; n <= 3; n++) await wait('gamma', `m-${n}`, 1);
    await sql`update extmsg_deliveries set attempts = 3, not_before = now() - pk * interval '1 s'`.execute(db);
    await wait('beta', 'm', 1);
    const picked = async (limit: number): Promise<string[]> => {
      const found = await repository.due(db, limit);
      await sql`update extmsg_deliveries set attempts = attempts + 1, not_before = clock_timestamp() where id = any(${found.map(({ id }) => id)})`.execute(
        db,
      );
      return found.map(({ id }) => id).sort();
    };
    expect(await picked(2)).toEqual(['beta-m-1', 'gamma-m-3-1']);
    expect(await picked(2)).toEqual(['alpha-m-3-1', 'gamma-m-2-1']);
    expect(await picked(2)).toEqual(['alpha-m-2-1', 'gamma-m-1-1']);
  });

  it('says whether its member is one still', async () => {
    for (const member of ['here', 'gone', 'nobody']) await wait('alpha', member, 1);
    await sql`
      insert into extmsg_memberships (stream_id, conversation_pk, selector, owners, joined_sequence, closed_at)
      select c.stream_id, c.pk, m, '{group}', 0, case m when 'gone' then now() end from event_streams e
      join extmsg_conversations c on c.stream_id = e.id, unnest(array['here', 'gone']) m where e.name = 'alpha'`.execute(db);
    expect((await repository.due(db, 100)).map(({ selector, member }) => [selector, member])).toEqual([
      ['here', true],
      ['gone', false],
      ['nobody', false],
    ]);
  });

  it('is for who has the conversation next, but for what he or the one before is told all the same', async () => {
    await wait('alpha', 'm', 3);
    await wait('alpha', 'next', 1, 2);
    await wait('beta', 'm', 1);
    await sql`update extmsg_deliveries set state = 'delivered' where id = 'alpha-m-3'`.execute(db);
    await sql`update extmsg_deliveries set not_before = now() + interval '1 hour', attempts = 4, error_code = 'waiting', error = 'x'`.execute(
      db,
    );
    const at = await conversationOf('alpha');
    const handOver = async (): Promise<unknown> => {
      await repository.handOver(db as unknown as Tx, at, 'm', { selector: 'next', sessionPk: null });
      return (await sql<{ id: string; selector: string }>`select id, selector from extmsg_deliveries order by pk`.execute(db)).rows
        .filter(({ id }) => id.includes('-m-'))
        .map(({ selector }) => selector);
    };
    await join(at, 'm');
    expect(await handOver()).toEqual(['m', 'm', 'm', 'm']);
    await sql`update extmsg_memberships set closed_at = now()`.execute(db);
    expect(await handOver()).toEqual(['next', 'm', 'm', 'm']);
    expect(await repository.due(db, 100)).toMatchObject([{ id: 'alpha-m-1', attempts: 0, error_code: null, error: null }]);
  });

  it('is for nobody else where a member has said it', async () => {
    await wait('alpha', 'm', 2);
    await sql`update extmsg_deliveries set direction = 'peer' where id = 'alpha-m-1'`.execute(db);
    await repository.handOver(db as unknown as Tx, await conversationOf('alpha'), 'm', { selector: 'next', sessionPk: null });
    expect((await repository.due(db, 100)).map(({ id, selector }) => [id, selector])).toEqual([
      ['alpha-m-1', 'm'],
      ['alpha-m-2', 'next'],
    ]);
  });

  describe('and was seen before it was handed over', () => {
    const failure = { code: 'session_not_found', error: 'x' };
    const next = { selector: 'next', sessionPk: null };

    // Guard: who had a conversation is not told what waits for who has it now, and does not end it.
    it('is left as it is', async () => {
      const transactions = new Transactions(db, new Failpoints());
      await wait('alpha', 'm', 1);
      const at = await conversationOf('alpha');
      await join(at, 'next');
      const [seen] = await repository.due(db, 100);
      await transactions.run((tx) => repository.handOver(tx, at, 'm', next));
      const [now] = await repository.due(db, 100);
      expect(now).toMatchObject({ pk: seen!.pk, selector: 'next', member: true });
      await transactions.run(async (tx) => {
        expect(await repository.lockPending(tx, seen!, 1, 500)).toBeUndefined();
        expect(await repository.skip(tx, seen!, failure)).toBe(false);
        expect(await repository.end(tx, seen!, 'failed', failure)).toBeUndefined();
        await repository.later(tx, seen!, 60_000, failure.code, failure.error);
        // Nor is it skipped by who has seen that its member had left, where he is back.
        expect(await repository.skip(tx, now!, failure)).toBe(false);
      });
      expect(await repository.due(db, 100)).toEqual([now]);
      expect(await transactions.run((tx) => repository.lockPending(tx, now!, 1, 500))).toMatchObject({ selector: 'next', member: true });
    });

    it('is left as it is, also by who waits for the hand-over', async () => {
      const transactions = new Transactions(db, new Failpoints());
      await wait('alpha', 'm', 1);
      const at = await conversationOf('alpha');
      const [seen] = await repository.due(db, 100);
      const looks: Promise<unknown>[] = [];
      await transactions.run(async (tx) => {
        await repository.handOver(tx, at, 'm', next);
        await join(at, 'next', tx);
        looks.push(
          transactions.run((other) => repository.lockPending(other, seen!, 1, 500)),
          transactions.run((other) => repository.skip(other, seen!, failure)),
        );
        await eventually(async () => {
          const { rows } = await pool.query(`select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`);
          return rows.length === looks.length;
        });
      });
      expect(await Promise.all(looks)).toEqual([undefined, false]);
      expect(await repository.due(db, 100)).toMatchObject([{ selector: 'next', member: true }]);
    });
  });

  // Guard: a city that is suspended has very much that waits, and it is looked at each second.
  it.each(['before', 'after'])('is found without reading all that waits, %s the table is analyzed', async (when) => {
    await wait('alpha', 'm', 5_000);
    await wait('beta', 'm', 2);
    if (when === 'after') await sql`analyze extmsg_deliveries`.execute(db);
    expect(await due()).toEqual(['alpha-m-1', 'beta-m-1']);
    for (const asked of [(on: Db) => repository.due(on, 100), (on: Db) => sql`select ${repository.isDue}`.execute(on)])
      expect(rowsRead(await plansOf(pool, asked), 'extmsg_deliveries')).toBeLessThan(20);
  });

  // Guard: a list of the few that wait was read among all that a city has.
  it('and what is not, is listed by state and direction without reading the others', async () => {
    await wait('alpha', 'm', 3_000);
    await sql`update extmsg_deliveries set state = 'delivered', direction = case when sequence % 2 = 0 then 'peer' else 'inbound' end`.execute(
      db,
    );
    await sql`update extmsg_deliveries set state = case sequence when 2 then 'pending' when 3 then 'failed' else 'queued' end where sequence in (2, 3, 4)`.execute(db); // prettier-ignore
    await sql`update extmsg_deliveries set direction = 'outbound' where sequence in (3, 1)`.execute(db);
    await sql`analyze extmsg_deliveries`.execute(db);
    const { stream_id } = await conversationOf('alpha');
    const list = async (filter: Partial<DeliveryFilter>): Promise<number[]> => {
      const asked = { states: undefined, direction: undefined, before: undefined, limit: 3, ...filter };
      const read = rowsRead(await plansOf(pool, (on) => repository.page(on, stream_id, asked)), 'extmsg_deliveries');
      expect(read).toBeLessThan(60);
      return (await repository.page(db, stream_id, asked)).rows.map(({ sequence }) => sequence!);
    };
    expect(await list({})).toEqual([3_000, 2_999, 2_998]);
    expect(await list({ states: ['pending'] })).toEqual([2]);
    expect(await list({ states: ['pending', 'failed', 'pending', 'queued'] })).toEqual([4, 3, 2]);
    expect(await list({ states: ['delivered'], direction: 'peer' })).toEqual([3_000, 2_998, 2_996]);
    expect(await list({ direction: 'outbound' })).toEqual([3, 1]);
    const [oldest] = (await repository.page(db, stream_id, { states: ['failed'], direction: undefined, before: undefined, limit: 1 })).rows;
    expect(await list({ states: ['failed', 'queued', 'delivered'], before: oldest!.pk })).toEqual([1]);
    expect(await list({ before: oldest!.pk })).toEqual([2, 1]);
  });

  it('and goes on, or ends, with its session without reading what waits for others', async () => {
    await wait('alpha', 'm', 5_000);
    await wait('alpha', 'al-1', 2);
    await sql`update extmsg_deliveries set session_pk = case selector when 'al-1' then 1 else 3 end`.execute(db);
    await sql`analyze extmsg_deliveries`.execute(db);
    const { rows } = await sql<{ id: number }>`select id from event_streams where name = 'alpha'`.execute(db);
    const streamId = rows[0]!.id;
    const [before, after] = [
      { pk: 1, id: 'al-1' },
      { pk: 2, id: 'al-2' },
    ];
    const move = (on: Db): Promise<unknown> => repository.move(on as unknown as Tx, streamId, before, after);
    const looks = (await plansOf(pool, move)).flatMap((node) => node['Index Cond'] ?? []);
    expect(looks).toEqual([expect.stringMatching(/stream_id = .*selector = /)]);
    const follow = (on: Db): Promise<unknown> => repository.follow(on as unknown as Tx, ['m-1'], before, after);
    expect((await plansOf(pool, follow)).flatMap((node) => node['Index Cond'] ?? [])).toEqual([expect.stringMatching(/message_id = /)]);
    const failure = { code: 'session_closed', error: 'x' };
    const ended = await new Transactions(db, new Failpoints()).run((tx) => repository.endOf(tx, streamId, after, failure));
    expect(ended.map(({ id, state }) => [id, state])).toEqual([
      ['alpha-al-1-1', 'failed'],
      ['alpha-al-1-2', 'failed'],
    ]);
  });
});
