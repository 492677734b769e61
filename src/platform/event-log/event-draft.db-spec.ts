import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { sql } from 'kysely';
import { cloneDatabase, type TestDatabase } from '../../../test/support/database.js';
import { createDb, createPool, type Db } from '../database/database.js';
import { Transactions, type Tx } from '../database/transactions.js';
import { Failpoints } from '../failpoints/failpoints.js';
import type { NewEvent } from './event.js';
import { EventLog } from './event-log.js';
import { MovedStreams, type Moved } from './moved.js';

let database: TestDatabase;
let db: Db;
let log: EventLog;
let transactions: Transactions;
let one: string;
const moved: Moved[] = [];
let made = 0;

beforeAll(async () => {
  database = await cloneDatabase();
  db = createDb(createPool(database.url));
  const streams = new MovedStreams();
  streams.listen((some) => moved.push(...some));
  log = new EventLog(streams);
  transactions = new Transactions(db, new Failpoints());
});
afterAll(async () => {
  await db.destroy();
  await database.drop();
});
beforeEach(async () => {
  one = `stream${++made}`;
  await run((tx) => log.joinStream(tx, one));
  moved.length = 0;
});

const run = <T>(body: (tx: Tx) => Promise<T>): Promise<T> => transactions.run(body);
const events = (...subjects: string[]): NewEvent[] =>
  subjects.map((subject) => ({ stream: one, type: 'test.appended', version: 1, actor: 'test', subject, payload: {} }));
const stored = async (): Promise<string[]> => {
  const { rows } = await sql<{ at: string }>`
    select e.seq || ' ' || e.subject as at from events e join event_streams s on s.id = e.stream_id where s.name = ${one} order by e.seq`.execute(
    db,
  );
  return rows.map(({ at }) => at);
};
const drafts = async (): Promise<number> => (await sql`select from event_drafts`.execute(db)).rows.length;

describe('events that are written down before they are appended', () => {
  it('are appended where they stand among others, and then gone', async () => {
    const heads = await run(async (tx) => {
      const [first, second, unused] = [
        await log.draft(tx, events('a', 'b')),
        await log.draft(tx, events('e')),
        await log.draft(tx, events('x')),
      ];
      return log.appendDrafts(tx, [first, ...events('c', 'd'), second, ...events('f')], [first, second, unused]);
    });
    expect(await stored()).toEqual(['1 a', '2 b', '3 c', '4 d', '5 e', '6 f']);
    expect([heads.get(one), moved, await drafts()]).toEqual([6, [{ stream: one, head: 6 }], 0]);
  });

  it('come to nothing with their transaction, and without an append', async () => {
    const failed = run(async (tx) => {
      await log.appendDrafts(tx, [await log.draft(tx, events('a'))], []);
      throw new Error('planted');
    });
    await expect(failed).rejects.toThrow('planted');
    expect(await run(async (tx) => log.appendDrafts(tx, [], [await log.draft(tx, events('a'))]))).toEqual(new Map());
    expect([await stored(), moved, await drafts()]).toEqual([[], [], 0]);
  });

  it('are appended at once beside those of another stream, whose times go by the order of events', async () => {
    const other = `a-${one}`;
    await run((tx) => log.joinStream(tx, other));
    moved.length = 0;
    const there = events('c').map((event) => ({ ...event, stream: other }));
    await run(async (tx) => log.appendDrafts(tx, [await log.draft(tx, events('a', 'b')), ...there], []));
    expect(await stored()).toEqual(['1 a', '2 b']);
    expect(moved.toSorted((x, y) => (x.stream < y.stream ? -1 : 1))).toEqual([
      { stream: other, head: 1 },
      { stream: one, head: 2 },
    ]);
    const { rows } = await sql<{ stream: string }>`
      select s.name as stream from events e join event_streams s on s.id = e.stream_id where s.name in (${one}, ${other}) group by 1 order by max(e.ts)`.execute(
      db,
    );
    expect(rows.map(({ stream }) => stream)).toEqual([one, other]);
    expect(await drafts()).toBe(0);
  });

  it('are never lost unseen', async () => {
    const lost = run(async (tx) => {
      const draft = await log.draft(tx, events('a'));
      await log.appendDrafts(tx, [draft], []);
      await log.appendDrafts(tx, [...events('b'), draft], []);
    });
    await expect(lost).rejects.toThrow('1 of 2 events were appended');
    expect(await stored()).toEqual([]);
  });
});
