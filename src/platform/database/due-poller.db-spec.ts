import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { sql } from 'kysely';
import { emptyDatabase, type TestDatabase } from '../../../test/support/database.js';
import { eventually } from '../../../test/support/sse.js';
import { Lifecycle } from '../health/lifecycle.js';
import { AppLogger, createLogger } from '../logging/logger.js';
import { createDb, createPool, type Db } from './database.js';
import { DuePoller } from './due-poller.js';

const EVERY_MS = 10;
const log = new AppLogger(createLogger('silent'));

let database: TestDatabase;
let db: Db;
let lifecycle: Lifecycle;
let looks: DuePoller;

beforeEach(async () => {
  database = await emptyDatabase();
  const pool = createPool(database.url);
  db = createDb(pool);
  lifecycle = new Lifecycle(log);
  looks = new DuePoller(pool, db, lifecycle, log);
  await sql`create table jobs (room text, at timestamptz)`.execute(db);
});
afterEach(async () => {
  await lifecycle.stop();
  await db.destroy();
  await database.drop();
});

/** Of two rooms each does its own jobs, when they are due. Answers how often each has looked for them. */
function rooms(): { first: number; second: number } {
  const turns = { first: 0, second: 0 };
  for (const room of ['first', 'second'] as const)
    looks.repeat({
      name: room,
      everyMs: EVERY_MS,
      due: sql<boolean>`(select j.at <= clock_timestamp() from jobs j where j.room = ${room}::text order by j.at limit 1)`,
      work: async () => {
        turns[room]++;
        await sql`delete from jobs where room = ${room} and at <= clock_timestamp()`.execute(db);
      },
    });
  return turns;
}

const left = async (): Promise<number> => (await sql`select from jobs`.execute(db)).rows.length;
const add = (room: string, inMs = 0): Promise<unknown> =>
  sql`insert into jobs values (${room}, clock_timestamp() + ${inMs} * interval '1 millisecond')`.execute(db);

describe('one look for all that is due', () => {
  it('has what was there at the start done, and what becomes due without anybody telling', async () => {
    await add('first');
    rooms();
    await eventually(async () => (await left()) === 0);
    await add('first', 30);
    await add('second');
    await eventually(async () => (await left()) === 0);
  });

  it('rings nobody for whom nothing is due', async () => {
    const turns = rooms();
    for (let n = 0; n < 3; n++) {
      await add('second');
      await eventually(async () => (await left()) === 0);
    }
    expect(turns.first).toBe(1);
    expect(turns.second).toBeGreaterThan(1);
  });

  it('asks about nobody more often than he wants', async () => {
    await sql`create sequence asked`.execute(db);
    rooms();
    looks.watch(3_600_000, sql<boolean>`nextval('asked') < 0`, () => undefined);
    for (let n = 0; n < 3; n++) {
      await add('second');
      await eventually(async () => (await left()) === 0);
    }
    const { rows } = await sql`select last_value::int as times, is_called as asked from asked`.execute(db);
    expect(rows).toEqual([{ times: 1, asked: true }]);
  });

  it('has its statement planned once, whomever it asks about', async () => {
    looks.watch(3_600_000, sql<boolean>`(select count(*) > 0 from jobs a, jobs b, jobs c)`, () => undefined);
    for (let n = 0; n < 10; n++) await looks.ask([false]);
    const { rows } = await sql<{ once: string }>`
      select generic_plans as once from pg_prepared_statements where name like 'due-%'`.execute(db);
    expect(Number(rows[0]!.once)).toBeGreaterThan(3);
  });

  it('leaves everybody to look by himself where it fails', async () => {
    looks.watch(EVERY_MS, sql<boolean>`(select true from no_such_table)`, () => undefined);
    rooms();
    await add('first');
    await add('second');
    await eventually(async () => (await left()) === 0);
    await add('first');
    await eventually(async () => (await left()) === 0);
  });

  it('tells those who came later as well', async () => {
    rooms();
    await add('first');
    await eventually(async () => (await left()) === 0);
    let rung = 0;
    looks.watch(EVERY_MS, sql<boolean>`exists (select from jobs j where j.room = 'third')`, () => rung++);
    await add('third');
    await eventually(async () => Promise.resolve(rung > 0));
  });

  it('goes on after work that has failed', async () => {
    let failures = 0;
    looks.repeat({
      name: 'failing',
      everyMs: EVERY_MS,
      due: sql<boolean>`exists (select from jobs)`,
      work: () => {
        failures++;
        return Promise.reject(new Error('broken'));
      },
    });
    await add('any');
    await eventually(async () => Promise.resolve(failures > 2));
  });
});
