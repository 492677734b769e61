import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { sql } from 'kysely';
import { ANYBODY } from '../../../contract/principal.js';
import { createDb, createPool, type Db } from '../../../platform/database/database.js';
import type { Tx } from '../../../platform/database/transactions.js';
import { EventLog } from '../../../platform/event-log/event-log.js';
import { MovedStreams } from '../../../platform/event-log/moved.js';
import { AppLogger, createLogger } from '../../../platform/logging/logger.js';
import { Checkpoints, OWN_RATE } from '../../../platform/streams/checkpoints.js';
import type { StreamHub } from '../../../platform/streams/hub.js';
import { StreamLogRepository } from '../../../platform/streams/stream-log.repository.js';
import { cloneDatabase, type TestDatabase } from '../../../../test/support/database.js';
import { SupervisorEventsQuery } from './events.schemas.js';
import { FeedEventsRepository, type FeedPart } from './feed-events.repository.js';
import { FeedEventsService } from './feed-events.service.js';
import { ListLimits } from './list-limits.js';
import { SupervisorEventsRepository } from './supervisor-events.repository.js';
import { SupervisorEventsService } from './supervisor-events.service.js';

class FewMissed extends ListLimits {
  override readonly missed: number = 2;
}
interface Body {
  readonly items: readonly { readonly city: string; readonly type: string }[];
  readonly next_cursor?: string;
  readonly event_cursor: string;
}

/** Lists upwards of many cities, whose positions are stored. */
describe('a list from a position', () => {
  const log = new EventLog(new MovedStreams());
  const cities = Array.from({ length: 20 }, (_, n) => `city${n + 10}`);
  let database: TestDatabase;
  let db: Db;
  let supervisor: SupervisorEventsService;
  let onRead: () => Promise<void>;
  class Meanwhile extends FeedEventsRepository {
    override async next(...asked: Parameters<FeedEventsRepository['next']>): Promise<FeedPart> {
      await onRead();
      return super.next(...asked);
    }
  }

  const change = <T>(work: (tx: Tx) => Promise<T>): Promise<T> => db.transaction().execute((tx) => work(tx as unknown as Tx));
  const say = (stream: string, type: string): Promise<unknown> =>
    sql`select * from append_events(${JSON.stringify([{ stream, type, actor: 'ann', payload: {} }])}::jsonb)`.execute(db);
  const list = async (query: object, caller = ANYBODY): Promise<Body> =>
    JSON.parse(await supervisor.list(SupervisorEventsQuery.parse(query), caller)) as Body;
  const stored = async (): Promise<number> =>
    Number((await sql<{ n: string }>`select count(*) as n from event_cursors`.execute(db)).rows[0]!.n);
  const walk = async (query: object): Promise<{ told: string[]; pages: number }> => {
    const told: string[] = [];
    for (let pages = 1, page = await list(query); ; pages++, page = await list({ limit: '1', cursor: page.next_cursor! })) {
      told.push(...page.items.map(({ type }) => type));
      if (page.next_cursor === undefined) return { told, pages };
    }
  };

  beforeEach(async () => {
    database = await cloneDatabase();
    const pool = createPool(database.url);
    db = createDb(pool);
    const repository = new StreamLogRepository(db, pool);
    const checkpoints = new Checkpoints(repository, new AppLogger(createLogger('silent', {})), () => new Map());
    const limits = new FewMissed();
    onRead = () => Promise.resolve();
    const feed = new FeedEventsService(new Meanwhile(db), { repository, checkpoints } as unknown as StreamHub, limits);
    supervisor = new SupervisorEventsService(new SupervisorEventsRepository(db), feed, log, db, limits);
    for (const name of cities) await change((tx) => log.joinStream(tx, name));
    await say('__supervisor__', 'x.joined');
  });
  afterEach(async () => {
    await db.destroy();
    await database.drop();
  });

  // Guard: each page of a walk over many cities had a row with all of them.
  it('stores one position for many pages, and tells of each event once, also of a city that has left long ago', async () => {
    const from = (await list({})).event_cursor;
    await say(cities[1]!, 'x.first');
    await say(cities[0]!, 'x.left');
    for (let n = 0; n < 20; n++) await say(cities[1 + (n % 19)]!, `x.${n}`);
    await change((tx) => log.leaveStream(tx, cities[0]!));
    await sql`update event_streams set last_ts = now() - interval '1 day' where name = ${cities[0]!}`.execute(db);
    const before = await stored();
    const { told, pages } = await walk({ after_cursor: from, limit: '1' });
    expect(told).toEqual(['x.first', 'x.left', ...Array.from({ length: 20 }, (_, n) => `x.${n}`)]);
    expect(pages).toBeGreaterThanOrEqual(20);
    expect((await stored()) - before).toBe(1);
  });

  // Guard: what is stored is dropped after a day; a token that counted from an old one would be good for less.
  it('stores another one when the one before is an hour old', async () => {
    const from = (await list({})).event_cursor;
    for (let n = 0; n < 3; n++) await say(cities[n]!, `x.${n}`);
    const page = await list({ after_cursor: from, limit: '1' });
    await sql`update event_cursors set created_at = created_at - interval '61 minutes'`.execute(db);
    const before = await stored();
    const now = Date.now;
    Date.now = () => now() + 61 * 60_000;
    try {
      expect((await list({ cursor: page.next_cursor!, limit: '1' })).items.map(({ type }) => type)).toEqual(['x.1']);
    } finally {
      Date.now = now;
    }
    expect((await stored()) - before).toBe(1);
  });

  /** A page of what was said since, with more to come: from names, as whoever polls with what the last answer said. */
  const poll = async (): Promise<Body> => {
    const from = (await list({})).event_cursor;
    await say(cities[0]!, 'x.one');
    await say(cities[1]!, 'x.two');
    return list({ after_cursor: from, limit: '1' });
  };

  // Guard: each page had a row with all cities, which stayed for a day.
  it('stores one position for many who come with names, and none for the next that is near', async () => {
    const before = await stored();
    const pages: Body[] = [];
    for (let n = 0; n < 20; n++) pages.push(await poll());
    expect((await stored()) - before).toBe(1);
    for (const { next_cursor: cursor } of pages.slice(-2))
      expect((await list({ cursor: cursor!, limit: '1' })).items.map(({ type }) => type)).toEqual(['x.two']);
    expect((await stored()) - before).toBe(1);
  });

  // Guard: what is told of a city that somebody else's position names would be told twice, or to who may not see it.
  it('counts from no position that names other cities', async () => {
    await poll();
    await change((tx) => log.leaveStream(tx, cities[19]!));
    await sql`update event_streams set last_ts = now() - interval '1 day' where name = ${cities[19]!}`.execute(db);
    const before = await stored();
    const page = await poll();
    expect((await stored()) - before).toBe(1);
    await say(cities[19]!, 'x.late');
    expect((await list({ cursor: page.next_cursor! })).items.map(({ type }) => type)).toEqual(['x.two']);
  });

  // Guard: who asks for other cities each time could have as much stored as the disk takes.
  it('stores no more for one key than its share, and goes on with names', async () => {
    const before = await stored();
    const from = (await list({})).event_cursor;
    for (const name of cities.slice(0, 2)) await say(name, 'x.one');
    const some = Array.from({ length: 150 }, (_, n) =>
      cities.filter((_city, i) => i < 2 || (i !== 2 + (n % 18) && i !== 2 + (Math.floor(n / 18) % 18))),
    );
    let last: Body | undefined;
    for (const seen of some) last = await list({ after_cursor: from, limit: '1', cities: seen.join() });
    expect((await stored()) - before).toBe(OWN_RATE.burst);
    expect((await list({ cursor: last!.next_cursor!, limit: '1' })).items.map(({ type }) => type)).toEqual(['x.one']);
  });

  it('tells of a city that joined after the position from its first event, or not at all', async () => {
    const from = (await list({})).event_cursor;
    await change((tx) => log.joinStream(tx, 'late'));
    for (let n = 0; n < 3; n++) await say('late', `x.${n}`);
    await say('__supervisor__', 'x.after');
    expect((await list({ after_cursor: from })).items.map(({ type }) => type)).toEqual(['x.0', 'x.1', 'x.2', 'x.after']);
    await sql`update event_streams set floor = 2 where name = 'late'`.execute(db);
    await expect(list({ after_cursor: from })).rejects.toThrow('the log no longer holds this position; the oldest position is late:2');
    await change((tx) => log.leaveStream(tx, 'late'));
    await expect(list({ after_cursor: from })).rejects.toThrow('the oldest position is late:2');
  });

  // Guard: the page would leave out what is dropped between the first look and the read, and nobody would know.
  it('is refused when what it begins with is dropped while it is read', async () => {
    const from = (await list({})).event_cursor;
    for (let n = 0; n < 3; n++) await say('city10', `x.${n}`);
    onRead = async () => {
      await sql`delete from events where stream_id = (select id from event_streams where name = 'city10') and seq <= 2`.execute(db);
      await sql`update event_streams set floor = 2 where name = 'city10'`.execute(db);
    };
    await expect(list({ after_cursor: from })).rejects.toThrow('the log no longer holds this position; the oldest position is city10:2');
  });

  // Guards: what is told of cities that have left is bounded, whether the position names them or they have joined since.
  it.each(['that have joined and left since', 'that it names and that have left'])('is refused for too many cities %s', async (how) => {
    const names = how.includes('names') ? cities.slice(0, 3) : ['one', 'two', 'three'];
    const from = (await list({})).event_cursor;
    for (const name of names) {
      if (!cities.includes(name)) await change((tx) => log.joinStream(tx, name));
      await say(name, 'x.last');
      await change((tx) => log.leaveStream(tx, name));
    }
    await say('__supervisor__', 'x.after');
    await expect(list({ after_cursor: from })).rejects.toThrow(
      'more than 2 cities have left since after_cursor; the oldest position is now the head, list with `since` instead of a position',
    );
    const some = await list({ after_cursor: from }, { ...ANYBODY, cities: names.slice(0, 2) });
    expect(some.items.map(({ city }) => city)).toEqual(names.slice(0, 2));
  });
});
