import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { sql } from 'kysely';
import { cloneDatabase, type TestDatabase } from '../../../../../test/support/database.js';
import { eventually } from '../../../../../test/support/sse.js';
import { createDb, createPool, type Db } from '../../../../platform/database/database.js';
import { Transactions } from '../../../../platform/database/transactions.js';
import { Failpoints } from '../../../../platform/failpoints/failpoints.js';
import { Lifecycle } from '../../../../platform/health/lifecycle.js';
import { LeaseTimings } from '../../../sessions/launch/leased-work.js';
import { AdaptersRepository } from '../adapters/adapters.repository.js';
import { ConversationsRepository } from '../conversations/conversations.repository.js';
import { ExtmsgTimings } from '../extmsg-timings.js';
import { ForClientsRepository } from './for-clients.repository.js';
import { Publisher } from './publisher.js';
import { PublicationsRepository } from './publications.repository.js';

describe('a worker that publishes', () => {
  let database: TestDatabase;
  let db: Db;
  let lifecycle: Lifecycle;
  let called: string[];
  let recorded: unknown[];
  let begin: () => void;

  beforeEach(async () => {
    database = await cloneDatabase();
    db = createDb(createPool(database.url));
    const log: any = { info: () => undefined, warn: () => undefined };
    lifecycle = new Lifecycle(log);
    called = [];
    recorded = [];
    await sql`
      with s as (insert into event_streams (name) values ('alpha') returning id),
      y as (insert into cities (name, dir, stream_id, running, phase) select 'alpha', '/alpha', id, true, 'running' from s),
      a as (
        insert into extmsg_adapters (stream_id, provider, account_id, name, callback_url, token_hash)
        select id, 'slack', 'a', 'n', 'http://127.0.0.1:1', '' from s),
      c as (
        insert into extmsg_conversations (stream_id, key, scope_id, provider, account_id, conversation_id, parent_conversation_id, kind)
        select id, 'k', 's', 'slack', 'a', 'c', '', 'room' from s returning pk, stream_id)
      insert into extmsg_deliveries (stream_id, conversation_pk, id, direction, session_id, conversation, body, deadline)
      select stream_id, pk, 'pub-1', 'outbound', 'de-1', '{}', 'x', now() + interval '1 hour' from c`.execute(db);
    const transactions = new Transactions(db, new Failpoints());
    const repository = Object.assign(Object.create(new PublicationsRepository(db)), { isCurrent: async () => true });
    const callback: any = { post: async (_city: string, address: string) => (called.push(address), { status: 200, why: '{}' }) };
    const ends: any = {
      record: async (tx: any, _at: unknown, { pk, id }: any, _adapter: unknown, { error }: any) => {
        recorded.push([id, error]);
        await repository.end(tx, pk, 'failed', {});
      },
    };
    // Between its claim and the look right before the call the city may be stopped, or unregistered.
    const conversations = new ConversationsRepository();
    const stopping: any = {
      lockPk: async (tx: any, pk: number) => {
        if (recorded.length === 0) await sql`update cities set running = false`.execute(db);
        return conversations.lockPk(tx, pk);
      },
    };
    const due: any = { watch: (_ms: number, _due: unknown, ring: () => void) => ring() };
    const publisher = new Publisher(
      { processId: 'w' } as any,
      transactions,
      repository,
      new ForClientsRepository(db),
      ...([stopping, new AdaptersRepository(), callback, ends, new ExtmsgTimings(), new LeaseTimings()] as const),
      { onTopics: () => () => undefined } as any,
      ...([due, lifecycle, new Failpoints(), log] as const),
    );
    begin = () => publisher.onApplicationBootstrap();
  });
  afterEach(async () => {
    await lifecycle.stop();
    await db.destroy();
    await database.drop();
  });

  const row = async (): Promise<{ state: string; attempts: number; worker: string | null }> => {
    const found = sql<{ state: string; attempts: number; worker: string | null }>`select state, attempts, worker from extmsg_deliveries`;
    return (await found.execute(db)).rows[0]!;
  };

  // Guard: what a city that was stopped had its sessions say waits for it.
  it('sends nothing of a city that has been stopped since it took it, and does not count that', async () => {
    begin();
    await eventually(async () => (await sql`select from cities where running`.execute(db)).rows.length === 0);
    await eventually(async () => (await row()).worker === null);
    expect(await row()).toEqual({ state: 'pending', attempts: 0, worker: null });
    expect([called, recorded]).toEqual([[], []]);
  });

  it('ends it unsent where its deadline has passed meanwhile', async () => {
    await sql`update extmsg_deliveries set deadline = now()`.execute(db);
    begin();
    await eventually(async () => (await row()).state === 'failed');
    expect([called, recorded]).toEqual([[], [['pub-1', 'the city has not run until its deadline']]]);
  });
});
