import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { sql, type RawBuilder } from 'kysely';
import { cloneDatabase, type TestDatabase } from '../../../../../test/support/database.js';
import { plansOf, rowsRead } from '../../../../../test/support/plans.js';
import { createDb, createPool, type Db, type PgPool } from '../../../../platform/database/database.js';
import type { Tx } from '../../../../platform/database/transactions.js';
import { OffersRepository } from '../connected/offers.repository.js';
import { ExtmsgTimings } from '../extmsg-timings.js';
import { ForClients } from '../repair/for-clients.js';
import { ForClientsRepository } from './for-clients.repository.js';
import { PublicationsRepository } from './publications.repository.js';

const OFFERS = 3;
const NONE = undefined as never;

describe('what connected clients come for', () => {
  let database: TestDatabase;
  let pool: PgPool;
  let db: Db;
  let publications: PublicationsRepository;
  let repository: ForClientsRepository;
  let adapter: number;

  beforeEach(async () => {
    database = await cloneDatabase();
    pool = createPool(database.url);
    db = createDb(pool);
    publications = new PublicationsRepository(db);
    repository = new ForClientsRepository(db);
    const { rows } = await sql<{ pk: number }>`
      with s as (insert into event_streams (name) values ('alpha') returning id),
      y as (insert into cities (name, dir, stream_id, running, phase) select 'alpha', '/alpha', id, true, 'running' from s)
      insert into extmsg_adapters (stream_id, provider, account_id, name, callback_url, token_hash, transport)
      select id, 'slack', 'a', 'n', '', '', 'stream' from s returning pk`.execute(db);
    adapter = rows[0]!.pk;
    await sql`insert into extmsg_connections (id, adapter_pk, lease_until) values ('cnx-1', ${adapter}, now() + interval '1 hour')`.execute(
      db,
    );
  });
  afterEach(async () => {
    await db.destroy();
    await database.drop();
  });

  /** Conversations of the adapter, each with so many that wait. */
  const waiting = (conversations: number, each: number, mark: number | null): Promise<unknown> =>
    sql`
    with c as (
      insert into extmsg_conversations (stream_id, key, scope_id, provider, account_id, conversation_id, parent_conversation_id, kind)
      select stream_id, n::text::bytea, 's', 'slack', 'a', n::text, '', 'room' from extmsg_adapters, generate_series(1, ${conversations}::int) n
      returning pk, stream_id, conversation_id)
    insert into extmsg_deliveries (stream_id, conversation_pk, id, direction, body, for_clients_of, deadline)
    select stream_id, pk, conversation_id || '-' || n, 'outbound', 'x', ${mark}, now() + interval '1 hour'
    from c, generate_series(1, ${each}::int) n order by n`.execute(db);
  const set = (what: RawBuilder<unknown>, id: string): Promise<unknown> =>
    sql`update extmsg_deliveries set ${what} where id like ${id}`.execute(db);
  const overdue = (id: string): Promise<unknown> => set(sql`deadline = now() - interval '1 second'`, id);
  const isDue = async (): Promise<boolean | null> =>
    (await sql<{ due: boolean | null }>`select ${publications.isDue} as due`.execute(db)).rows[0]!.due;
  const claimed = (): Promise<string[]> =>
    db.transaction().execute(async (tx) => {
      await repository.release(tx);
      return (await publications.claim(tx, 'w', { room: 10, open: 10 }, 60_000, OFFERS)).map(({ id }) => id);
    });
  const marked = async (): Promise<string[]> =>
    (await sql<{ id: string }>`select id from extmsg_deliveries where for_clients_of is not null order by id`.execute(db)).rows.map(
      ({ id }) => id,
    );
  const unmark = (): Promise<void> => new ForClients(db, repository, new ExtmsgTimings({ offers: OFFERS }), NONE, NONE).unmark();
  const turn = async (on: Db): Promise<void> => {
    await repository.release(on as unknown as Tx);
    await publications.claim(on as unknown as Tx, 'w', { room: 10, open: 10 }, 60_000, OFFERS);
  };

  // Guard: workers look each second, and clients may be away for a day.
  it.each(['before', 'after'])('costs the looks of workers nothing, %s the table is analyzed', async (when) => {
    await waiting(3_000, 1, adapter);
    if (when === 'after') await sql`analyze extmsg_deliveries`.execute(db);
    for (const asked of [(on: Db) => sql`select ${publications.isDue}`.execute(on), turn])
      expect(rowsRead(await plansOf(pool, asked), 'extmsg_deliveries')).toBeLessThan(10);
    expect(await isDue()).not.toBe(true);
  });

  it('is for a worker with its deadline, and behind what waits before it', async () => {
    await waiting(2, 2, adapter);
    await overdue('%-2');
    expect(await isDue()).toBe(true);
    expect(await claimed()).toEqual([]);
    await overdue('1-1');
    expect(await claimed()).toEqual(['1-1']);
    await set(sql`state = 'failed', worker = null`, '1-1');
    expect(await claimed()).toEqual(['1-2']);
    expect(await marked()).toEqual(['2-1']);
  });

  // Guard: each message that is published asks how many wait, and each that is offered which comes next.
  it.each(['before', 'after'])('costs the clients of another adapter nothing, %s the table is analyzed', async (when) => {
    await waiting(3_000, 1, adapter + 1);
    await sql`update extmsg_deliveries set for_clients_of = ${adapter} where id in ('7-1', '9-1')`.execute(db);
    if (when === 'after') await sql`analyze extmsg_deliveries`.execute(db);
    const { rows } = await sql<{ stream_id: number }>`select stream_id from extmsg_adapters`.execute(db);
    const limits = { count: 10, bytes: 1_000, offers: OFFERS };
    const of = { pk: adapter, stream_id: rows[0]!.stream_id };
    const asked: ((on: Db) => Promise<unknown>)[] = [
      (on) => new OffersRepository(on).waiting([adapter]),
      (on) => new OffersRepository(on).candidates(of, 'cnx-1', limits),
      (on) => new OffersRepository(on).count(on as unknown as Tx, of, 2_000),
    ];
    for (const one of asked) expect(rowsRead(await plansOf(pool, one), 'extmsg_deliveries')).toBeLessThan(10);
    expect(await new OffersRepository(db).candidates(of, 'cnx-1', limits)).toHaveLength(2);
  });

  it('is offered behind what waits before it, whoever is to take that', async () => {
    await waiting(1, 2, adapter);
    const { rows } = await sql<{ stream_id: number }>`select stream_id from extmsg_adapters`.execute(db);
    const offered = async (): Promise<number> =>
      (await new OffersRepository(db).candidates({ pk: adapter, ...rows[0]! }, 'cnx-1', { count: 10, bytes: 1_000, offers: OFFERS }))
        .length;
    await set(sql`for_clients_of = null`, '1-1');
    expect(await offered()).toBe(0);
    await set(sql`state = 'failed'`, '1-1');
    expect(await offered()).toBe(1);
  });

  // Guard: nobody else would ever say that no client has taken it.
  it('is for a worker once it was offered often enough', async () => {
    await waiting(1, 1, adapter);
    const offers = new OffersRepository(db);
    const { rows } = await sql<{ pk: number }>`select pk from extmsg_deliveries`.execute(db);
    for (let nth = 1; nth <= OFFERS; nth++) {
      const given = await db
        .transaction()
        .execute((tx) => offers.take(tx, rows[0]!.pk, 'cnx-1', `claim-${nth}`, { ms: 60_000, offers: OFFERS, silence: 'x' }));
      expect(given).toBeDefined();
      expect(await marked()).toEqual(nth < OFFERS ? ['1-1'] : []);
      expect(await claimed()).toEqual([]);
      await set(sql`lease_until = now() - interval '1 second'`, '1-1');
    }
    expect(await claimed()).toEqual(['1-1']);
  });

  it('is for a worker when its adapter takes streams no more, except what somebody has in hand', async () => {
    await waiting(3, 1, adapter);
    const rest = await db.transaction().execute(async (other) => {
      await sql`select from extmsg_deliveries where id = '2-1' for no key update`.execute(other);
      await sql`update extmsg_adapters set transport = 'callback', callback_url = 'http://127.0.0.1:1'`.execute(db);
      await db.transaction().execute((tx) => repository.leave(tx, adapter));
      return marked();
    });
    expect(rest).toEqual(['2-1']);
    expect(await claimed()).toEqual(['1-1', '3-1']);
    await unmark();
    expect(await marked()).toEqual([]);
    expect(await claimed()).toEqual(['2-1']);
  });

  // Guard: an adapter may change while something is taken for it, and the release before knows no marks.
  it('is marked by the worker that finds it, with all that its conversation has', async () => {
    await waiting(3, 2, null);
    await overdue('3-1');
    expect(await claimed()).toEqual(['3-1']);
    expect(await marked()).toEqual(['1-1', '1-2', '2-1', '2-2']);
    await set(sql`state = 'failed', worker = null`, '3-1');
    expect(await claimed()).toEqual([]);
    expect(await marked()).toEqual(['1-1', '1-2', '2-1', '2-2', '3-2']);
    expect(await isDue()).not.toBe(true);
  });

  // Guard: whoever calls adapters would wait for these locks, and each turn would be written.
  it.each(['before', 'after'])('locks nothing of what waits for a callback, %s the table is analyzed', async (when) => {
    await waiting(3_000, 1, null);
    await sql`update extmsg_adapters set transport = 'callback'`.execute(db);
    await set(sql`not_before = now() + interval '1 hour'`, '%');
    if (when === 'after') await sql`analyze extmsg_deliveries, extmsg_conversations`.execute(db);
    const locked = async (): Promise<number> =>
      (await sql<{ n: number }>`select count(*)::int as n from extmsg_deliveries where xmax <> 0`.execute(db)).rows[0]!.n;
    await sql`vacuum extmsg_deliveries`.execute(db);
    const before = await locked();
    await turn(db);
    expect(await locked()).toBe(before);
    expect(rowsRead(await plansOf(pool, turn), 'extmsg_deliveries')).toBeLessThan(3_010);
  });

  it('has its mark no more where the adapter has gone, or where the release before has offered it for the last time', async () => {
    await waiting(3, 1, adapter);
    await set(sql`attempts = ${OFFERS}, worker = 'cnx-1', lease_until = now() - interval '1 second'`, '2-1');
    await unmark();
    expect(await marked()).toEqual(['1-1', '3-1']);
    expect(await claimed()).toEqual(['2-1']);
    await sql`delete from extmsg_adapters`.execute(db);
    await unmark();
    expect(await marked()).toEqual([]);
  });

  it.each(['before', 'after'])(
    'is looked through for adapters that have gone by one look for each, %s the table is analyzed',
    async (when) => {
      await waiting(3_000, 1, adapter);
      await sql`update extmsg_deliveries set for_clients_of = ${adapter + 7} where id in ('7-1', '9-1')`.execute(db);
      if (when === 'after') await sql`analyze extmsg_deliveries`.execute(db);
      for (const asked of [(on: Db) => new ForClientsRepository(on).gone(), (on: Db) => new ForClientsRepository(on).offered(OFFERS)])
        expect(rowsRead(await plansOf(pool, asked), 'extmsg_deliveries')).toBeLessThan(10);
      expect(await repository.gone()).toEqual([adapter + 7]);
    },
  );
});
