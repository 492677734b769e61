import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { sql } from 'kysely';
import { cloneDatabase, type TestDatabase } from '../../../../../test/support/database.js';
import type { Principal } from '../../../../contract/principal.js';
import { createDb, createPool, type Db, type PgPool } from '../../../../platform/database/database.js';
import { Transactions } from '../../../../platform/database/transactions.js';
import type { EventLog } from '../../../../platform/event-log/event-log.js';
import { Failpoints } from '../../../../platform/failpoints/failpoints.js';
import { CitiesRepository } from '../../../tenancy/cities/cities.repository.js';
import { CitiesService } from '../../../tenancy/cities/cities.service.js';
import { AdaptersRepository } from '../adapters/adapters.repository.js';
import { ConversationsRepository } from '../conversations/conversations.repository.js';
import { DeliveriesRepository } from '../deliveries/deliveries.repository.js';
import type { PublicationEnds } from '../outbound/publication-ends.js';
import { PublicationsRepository } from '../outbound/publications.repository.js';
import { AcksService } from './acks.service.js';
import { ConnectionsRepository } from './connections.repository.js';
import { OffersRepository, type Account } from './offers.repository.js';

const CALLER: Principal = { actor: 'x', keyId: 'x', credential: 'x', scope: 'write', rights: ['operate'] } as unknown as Principal;

describe('a stopped city', () => {
  let database: TestDatabase;
  let pool: PgPool;
  let db: Db;
  let transactions: Transactions;
  let offers: OffersRepository;
  let account: Account;
  let adapter: number;

  beforeEach(async () => {
    database = await cloneDatabase();
    pool = createPool(database.url);
    db = createDb(pool);
    transactions = new Transactions(db, new Failpoints());
    offers = new OffersRepository(db);
    const { rows } = await sql<Account & { adapter: number }>`
      with s as (insert into event_streams (name) values ('alpha') returning id),
      y as (insert into cities (name, dir, stream_id, running, phase) select 'alpha', '/alpha', id, true, 'running' from s),
      a as (
        insert into extmsg_adapters (stream_id, provider, account_id, name, callback_url, token_hash, transport)
        select id, 'slack', 'a', 'n', '', '', 'stream' from s returning pk, stream_id, provider, account_id),
      k as (insert into extmsg_connections (id, adapter_pk, lease_until) select 'cnx-1', pk, now() + interval '1 hour' from a),
      c as (
        insert into extmsg_conversations (stream_id, key, scope_id, provider, account_id, conversation_id, parent_conversation_id, kind)
        select id, n::text::bytea, 's', 'slack', 'a', n::text, '', 'room' from s, generate_series(1, 2) n returning pk, stream_id, conversation_id),
      d as (
        insert into extmsg_deliveries (stream_id, conversation_pk, id, direction, body, deadline, for_clients_of)
        select c.stream_id, c.pk, 'pub-' || conversation_id, 'outbound', 'x', now() + interval '1 hour', a.pk from c, a)
      select stream_id, provider, account_id, pk as adapter from a`.execute(db);
    account = rows[0]!;
    adapter = rows[0]!.adapter;
  });
  afterEach(async () => {
    await db.destroy();
    await database.drop();
  });

  const run = (running: boolean): Promise<unknown> => sql`update cities set running = ${running}`.execute(db);
  const candidates = async (): Promise<number[]> =>
    (await offers.candidates({ pk: adapter, stream_id: account.stream_id }, 'cnx-1', { count: 32, bytes: 1_000, offers: 20 })).map(
      ({ pk }) => pk,
    );
  const take = (pk: number): Promise<unknown> =>
    transactions.run((tx) => offers.take(tx, pk, 'cnx-1', `claim-${pk}`, { ms: 60_000, offers: 20, silence: 'x' }));
  const isWaiting = async (): Promise<boolean> => (await offers.waiting([adapter])).has(adapter);

  // Guard: what was given before the stop is answered after it, and counts.
  it('offers nothing, and takes the acknowledgements of what it has offered', async () => {
    const [one, two] = await candidates();
    expect(await take(one!)).toEqual({ silent: null });
    await run(false);
    expect([await isWaiting(), await candidates(), await take(two!)]).toEqual([false, [], undefined]);

    const recorded: unknown[] = [];
    const ends = { record: async (...[, , { id }, , outcome]: any[]) => void recorded.push([id, outcome.messageId]) };
    const cities = new CitiesService(new CitiesRepository(pool), transactions, {} as EventLog, db);
    const acks = new AcksService(
      ...([db, transactions, cities, new AdaptersRepository(), new ConnectionsRepository(db), new ConversationsRepository()] as const),
      ...([new PublicationsRepository(db), new DeliveriesRepository(), ends as unknown as PublicationEnds] as const),
    );
    const body = { claim: `claim-${one}`, delivered: true, message_id: 'm-1' };
    await acks.ack('alpha', 'pub-1', body, CALLER);
    expect(recorded).toEqual([['pub-1', 'm-1']]);
    for (const [city, caller] of [
      ['beta', CALLER],
      ['alpha', { ...CALLER, cities: ['beta'] }],
    ] as const)
      await expect(acks.ack(city, 'pub-1', body, caller)).rejects.toMatchObject({ problem: 'city_not_found' });

    await run(true);
    expect([await isWaiting(), await candidates()]).toEqual([true, [two]]);
    expect(await take(two!)).toEqual({ silent: null });
  });
});
