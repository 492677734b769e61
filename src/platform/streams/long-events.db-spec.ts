import { afterAll, afterEach, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { sql } from 'kysely';
import { cloneDatabase, type TestDatabase } from '../../../test/support/database.js';
import { SlowClient } from '../../../test/support/slow-client.js';
import { eventually, openStream } from '../../../test/support/sse.js';
import { StreamReplica } from '../../../test/support/stream-replica.js';

const EVENTS = 8;
const LONG = 1_000_000;
/** What one read may hold, and one event beside it. */
const READ = (4 << 20) + LONG;

describe('a stream of events of a megabyte', () => {
  let database: TestDatabase;
  let replica: StreamReplica;
  let longest = 0;
  let ofTypes = 0;
  const clients: SlowClient[] = [];

  const follow = async (path: string): Promise<SlowClient> => {
    const client = await SlowClient.open(`${replica.url}${path}`);
    clients.push(client);
    return client;
  };
  const upTo = (head: number, after = 0): number[] => Array.from({ length: head - after }, (_, i) => after + i + 1);
  /** Once it has as many as there are, it has exactly those. */
  const has = async (client: SlowClient, expected: readonly number[]): Promise<void> => {
    await eventually(() => client.read().seqs.length >= expected.length);
    expect(client.read().seqs).toEqual(expected);
  };
  /** As many are there at once as one statement makes; every other one is of before the log noted sizes. */
  const append = async (name: string, count: number, length = LONG): Promise<void> => {
    await sql`
      with s as (update event_streams set head = head + ${count}, last_ts = clock_timestamp() where name = ${name} returning id, head, last_ts)
      insert into events (stream_id, seq, ts, type, actor, payload, size)
      select s.id, s.head - ${count}::int + n, s.last_ts, case when n % 5 = 0 then 'x.rare' else 'x.long' end, 'test',
        jsonb_build_object('n', n, 'text', repeat('x', ${length})), case when n % 2 = 0 then ${length} + 200 end
      from s, generate_series(1, ${count}::int) n`.execute(replica.db);
  };

  beforeAll(async () => {
    database = await cloneDatabase();
    replica = await StreamReplica.start(database.url);
    const { repository } = replica.hub;
    const read = repository.read.bind(repository);
    jest.spyOn(repository, 'read').mockImplementation(async (...asked) => {
      const answer = await read(...asked);
      const bytes = answer.rows.reduce((sum, { text }) => sum + text.length, 0);
      longest = Math.max(longest, bytes);
      // What is read for all has every type.
      if (asked[3] !== undefined) ofTypes = Math.max(ofTypes, bytes);
      return answer;
    });
    SlowClient.tolerate();
  });
  afterEach(() => {
    for (const client of clients.splice(0)) client.close();
  });
  afterAll(async () => {
    jest.restoreAllMocks();
    await replica.stop();
    await database.drop();
  });

  it('is read in parts: from the log, as it goes on, and by who is slow', async () => {
    await replica.join('long');
    await append('long', EVENTS);
    const [fast, slow] = [await follow('/long?after=0'), await follow('/long?after=0')];
    fast.resume();
    await has(fast, upTo(EVENTS + 1));
    await append('long', EVENTS);
    await replica.hub.refresh();
    await has(fast, upTo(2 * EVENTS + 1));
    slow.resume();
    await has(slow, upTo(2 * EVENTS + 1));
    expect(longest).toBeLessThan(READ);
  });

  it('is resumed anywhere, also by who wants some kinds only', async () => {
    const head = 2 * EVENTS + 1;
    for (const after of [1, 6, head - 1]) {
      const client = await follow(`/long?after=${after}`);
      client.resume();
      await has(client, upTo(head, after));
    }
    const rare = await follow('/long?after=0&type=x.rare');
    rare.resume();
    await has(
      rare,
      upTo(head).filter((seq) => seq > 1 && ((seq - 2) % EVENTS) % 5 === 4),
    );
    expect(longest).toBeLessThan(READ);
  });

  it('is part of the feed of all cities, to whose middle one returns', async () => {
    const head = 2 * EVENTS + 1;
    await replica.join('other');
    const cut = await openStream(`${replica.url}/sup?after=__supervisor__:0,long:0,other:0`);
    const seen = (frames: typeof cut.frames): number[] => frames.filter((f) => f.data.city === 'long').map((f) => f.data.seq as number);
    await cut.untilAll((frames) => seen(frames).length >= 5);
    await cut.close();
    const rest = await openStream(`${replica.url}/sup`, { headers: { 'last-event-id': cut.frames.at(-1)!.id! } });
    await append('other', 3);
    await replica.hub.refresh();
    await rest.untilAll((frames) => frames.filter((f) => f.data.city === 'other' && f.data.type !== 'city.created').length === 3);
    await rest.close();
    expect([...seen(cut.frames), ...seen(rest.frames)]).toEqual(upTo(head));
    expect(longest).toBeLessThan(READ);
  });

  // Guard: each of thousands of clients that read nothing has a part of its own in memory.
  it('is read for one stream alone in parts of a quarter of that, also where events are shorter', async () => {
    await replica.join('middle');
    await append('middle', 3 * EVENTS, LONG / 10);
    for (const path of ['/middle?after=0&type=x.long,x.rare', '/sup?after=__supervisor__:0,middle:0&cities=middle&type=x.long,x.rare']) {
      ofTypes = 0;
      const stream = await openStream(`${replica.url}${path}`);
      await stream.untilAll((frames) => frames.filter(({ data }) => `${data.type}`.startsWith('x.')).length === 3 * EVENTS);
      await stream.close();
      expect([path, ofTypes > 2 * (LONG / 10), ofTypes <= 256 << 10]).toEqual([path, true, true]);
    }
  });
});
