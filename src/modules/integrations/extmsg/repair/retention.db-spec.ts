import { afterEach, beforeEach, expect, it } from '@jest/globals';
import { sql } from 'kysely';
import { cloneDatabase, LOCK_TIMEOUT_MS, type TestDatabase } from '../../../../../test/support/database.js';
import { registerCity } from '../../../../../test/support/registry.js';
import { createDb, createPool, type Db } from '../../../../platform/database/database.js';
import { ExtmsgRetention } from './retention.js';
import { RetentionRepository } from './retention.repository.js';

let database: TestDatabase;
let db: Db;
beforeEach(async () => {
  database = await cloneDatabase(LOCK_TIMEOUT_MS);
  db = createDb(createPool(database.url));
  const { streamId } = await registerCity(db, 'alpha', '/alpha');
  for (const id of ['one', 'two', 'three'])
    await sql`
      with c as (
        insert into extmsg_conversations (stream_id, key, scope_id, provider, account_id, conversation_id, parent_conversation_id, kind, head)
        values (${streamId}, ${Buffer.from(id)}, 's', 'slack', 'default', ${id}, '', 'room', 3) returning pk)
      insert into extmsg_entries (conversation_pk, sequence, id, kind, provider_message_id, once_key, actor, text, explicit_target,
        reply_to_message_id, attachments, source_session_id, route, created_at)
      select c.pk, n, ${id} || n, 'inbound', '', '', '{}', 'x', '', '', '[]', '', '{}', now() - (4 - n) * interval '10 days'
      from c, generate_series(1, 3) n`.execute(db);
});
afterEach(async () => {
  await db.destroy();
  await database.drop();
});

const kept = async (): Promise<Record<string, number[]>> => {
  const { rows } = await sql<{ id: string; earliest: number; n: number }>`
    select c.conversation_id as id, c.earliest, count(e.*) as n from extmsg_conversations c
    left join extmsg_entries e on e.conversation_pk = c.pk group by 1, 2 order by 1`.execute(db);
  return Object.fromEntries(rows.map(({ id, earliest, n }) => [id, [earliest, n]]));
};

// Guard: it waits for nobody's conversation, who may have one and wait for another.
it('forgets entries of conversations that nobody has, and the others once they are free', async () => {
  const repository = new RetentionRepository(db);
  const forget = async (): Promise<number> =>
    (await repository.forgetOldEntries(15, 100)) + (await repository.forgetManyEntries(1_000, { above: 0, upTo: 1_000 }, 100));
  await db.transaction().execute(async (tx) => {
    await sql`select from extmsg_conversations where conversation_id = 'two' for no key update`.execute(tx);
    expect(await forget()).toBe(4);
  });
  expect(await kept()).toMatchObject({ one: [3, 1], three: [3, 1] });
  expect((await kept()).two![1]).toBe(3);
  expect(await forget()).toBe(2);
  expect(await kept()).toMatchObject({ two: [3, 1] });
});

/** As many deliveries as there are numbers, which ended long ago. */
async function ended(count: number): Promise<void> {
  await sql`
    insert into extmsg_deliveries (stream_id, conversation_pk, id, direction, sequence, selector, body, deadline, state, ended_at)
    select c.stream_id, c.pk, 'd' || n, 'inbound', n, 'mayor', 'x', now(), 'delivered', now() - interval '30 days'
    from extmsg_conversations c, generate_series(1, ${count}) n where c.conversation_id = 'one'`.execute(db);
}
const left = async (): Promise<number> =>
  (await sql<{ n: number }>`select count(*)::int as n from extmsg_deliveries`.execute(db)).rows[0]!.n;

it('forgets in one pass what is more than a statement takes, of each kind', async () => {
  await ended(25);
  await sql`update extmsg_entries set created_at = now() - interval '1 year'`.execute(db);
  const NOTHING = undefined as never;
  const retention = new ExtmsgRetention(NOTHING, NOTHING, NOTHING, new RetentionRepository(db), NOTHING, NOTHING);
  await retention.forget(4);
  expect(await left()).toBe(0);
  expect(Object.values(await kept()).map(([, entries]) => entries)).toEqual([0, 0, 0]);
  // Who is told to stop does no more than what is begun.
  await ended(25);
  await retention.forget(4, AbortSignal.abort());
  expect(await left()).toBe(25);
});

it('looks at some conversations at a time, whether they have too many entries, and at all in the end', async () => {
  const repository = new RetentionRepository(db);
  const first = await repository.stretch(0, 2);
  expect(first.count).toBe(2);
  expect(await repository.forgetManyEntries(1, first, 100)).toBe(4);
  const rest = await repository.stretch(first.upTo, 2);
  expect(rest.count).toBe(1);
  expect(await repository.forgetManyEntries(1, rest, 100)).toBe(2);
  expect(await repository.stretch(rest.upTo, 2)).toEqual({ above: rest.upTo, upTo: rest.upTo, count: 0 });

  const { rows } = await sql<{ last: number }>`select max(pk) as last from extmsg_conversations`.execute(db);
  const anywhere = await repository.anywhere();
  expect(anywhere >= 0 && anywhere < rows[0]!.last).toBe(true);

  const above: number[] = [];
  const full = { count: 20_000, upTo: 30_000 };
  const few = { count: 1, upTo: 30_001 };
  const stretches = [full, few, full];
  repository.anywhere = () => Promise.resolve(12_000);
  repository.stretch = (from) => Promise.resolve({ above: from, ...stretches.shift()! });
  repository.forgetManyEntries = (_kept, stretch) => {
    above.push(stretch.above);
    return Promise.resolve(0);
  };
  const NOTHING = undefined as never;
  const retention = new ExtmsgRetention(NOTHING, NOTHING, NOTHING, repository, NOTHING, NOTHING);
  for (let pass = 0; pass < 3; pass++) await retention.forget();
  expect(above).toEqual([12_000, 30_000, 0]);
});

// Guard: two workers wait for each other's rows no more than for anybody's.
it('forgets deliveries that nobody has, and waits for none', async () => {
  const repository = new RetentionRepository(db);
  await ended(4);
  await db.transaction().execute(async (tx) => {
    await sql`select from extmsg_deliveries where id = 'd2' for update`.execute(tx);
    expect(await repository.forgetDeliveries(7, 100)).toBe(3);
  });
  expect(await repository.forgetDeliveries(7, 100)).toBe(1);
});
