import type { Socket } from 'node:net';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { sql } from 'kysely';
import { emptyDatabase, type TestDatabase } from '../../../test/support/database.js';
import { eventually } from '../../../test/support/sse.js';
import { AuditedRequest, onBehalfOf, type AuditEntry } from '../audit/audited-request.js';
import { Failpoints } from '../failpoints/failpoints.js';
import { workFor, Working } from '../turns/working.js';
import { createDb, createPool, DEFAULT_POOL_SIZE, type Db } from './database.js';
import { CommitUnknown, isRetryable, toProblem } from './pg-errors.js';
import { afterCommit, Transactions } from './transactions.js';

let database: TestDatabase;
let db: Db;
let transactions: Transactions;

beforeEach(async () => {
  database = await emptyDatabase();
  db = createDb(createPool(database.url));
  transactions = new Transactions(db, new Failpoints());
  await sql`create table noted (what text)`.execute(db);
});
afterEach(async () => {
  await db.destroy();
  await database.drop();
});

const noted = async (): Promise<number> => (await sql`select from noted`.execute(db)).rows.length;

describe('what is to happen after a commit', () => {
  it('happens once others see what was committed, in its order', async () => {
    const order: string[] = [];
    const seen: Promise<number>[] = [];
    await transactions.run(async (tx) => {
      afterCommit(tx, () => order.push('first'));
      afterCommit(tx, () => order.push('second'));
      afterCommit(tx, () => seen.push(noted()));
      await sql`insert into noted values ('x')`.execute(tx);
    });
    expect(order).toEqual(['first', 'second']);
    expect(await Promise.all(seen)).toEqual([1]);
  });

  it('does not happen after a roll-back', async () => {
    const seen: string[] = [];
    const failing = transactions.run(async (tx) => {
      afterCommit(tx, () => seen.push('never'));
      await sql`select 1 / 0`.execute(tx);
    });
    await expect(failing).rejects.toThrow('division by zero');
    expect(seen).toEqual([]);
  });
});

describe('a connection that is lost', () => {
  const lostAt = async (text: string): Promise<unknown> => {
    const pool = createPool(database.url, { max: 1 });
    pool.on('connect', (client) => {
      const query = client.query.bind(client) as (...asked: unknown[]) => unknown;
      client.query = ((...asked: unknown[]) => {
        const answer = query(...asked);
        if (asked[0] === text) (client as unknown as { connection: { stream: Socket } }).connection.stream.destroy();
        return answer;
      }) as never;
    });
    const own = createDb(pool);
    try {
      return await new Transactions(own, new Failpoints())
        .run((tx) => sql`insert into noted values ('x')`.execute(tx))
        .catch((error: unknown) => error);
    } finally {
      await own.destroy();
    }
  };

  // Guard: who is told that nothing was changed would do it twice.
  it('during the commit leaves open whether that happened, which is said', async () => {
    const error = await lostAt('commit');
    expect([error instanceof CommitUnknown, isRetryable(error)]).toEqual([true, true]);
    expect(String(toProblem(error))).toContain('it is not known whether it was done; repeat it with the same Idempotency-Key');
  });

  it('before it has changed nothing', async () => {
    expect(String(toProblem(await lostAt('begin')))).toContain('nothing was changed, try again');
  });
});

describe('what goes with the begin and the commit of a request', () => {
  const asked = async (last: string): Promise<void> => {
    transactions.recordWith({ begin: () => `insert into noted values ('first')`, end: () => last });
    const request = new AuditedRequest({ request_id: 'r' } as AuditEntry);
    await onBehalfOf(request, () =>
      transactions.run(async (tx) => {
        expect((await sql<{ what: string }>`select what from noted`.execute(tx)).rows).toEqual([{ what: 'first' }]);
        request.accepted = { operationRequestId: 'o', city: 'alpha' };
      }),
    );
  };

  it('is committed with it', async () => {
    await asked(`insert into noted values ('last')`);
    expect((await sql`select what from noted order by 1`.execute(db)).rows).toEqual([{ what: 'first' }, { what: 'last' }]);
  });

  it('takes all of it back where it fails, and leaves the connection as it was', async () => {
    await expect(asked('insert into noted select 1 / 0')).rejects.toThrow('division by zero');
    expect(await noted()).toBe(0);
    await transactions.run((tx) => sql`insert into noted values ('x')`.execute(tx));
    expect(await noted()).toBe(1);
  });
});

// Guard: a quarter of the pool a key.
it.each([DEFAULT_POOL_SIZE, 8])('one city leaves connections to the others, however many want to write in it: of %i', async (max) => {
  const own = createDb(createPool(database.url, { max }));
  const transactions = new Transactions(own, new Failpoints());
  let held = 0;
  let most = 0;
  let open = (): void => undefined;
  const gate = new Promise<void>((resolve) => (open = resolve));
  const work = async (): Promise<void> => {
    most = Math.max(most, ++held);
    await gate;
    held--;
  };
  const share = Math.floor(max / 4);
  const busy = Array.from({ length: 2 * max }, () => transactions.run(work, { key: 'busy' }));
  await eventually(() => held >= share);
  expect(await transactions.run(async () => 'through', { key: 'another' })).toBe('through');
  open();
  await Promise.all(busy);
  await own.destroy();
  expect(most).toBe(share);
});

/** A request of a city that asks for much. */
const asCity = <T>(city: string, work: () => Promise<T>): Promise<T> => {
  const place = { leave: () => undefined, again: () => Promise.resolve(), wanted: 100 };
  return workFor(new Working({ owner: `city ${city}`, limited: true, lane: 'k' }, place), work);
};

// Guard: what requests write takes turns.
it('cities that all write and wait leave connections to another, and its reads do not wait for its writes', async () => {
  const CITIES = ['a', 'b', 'c', 'd', 'e'];
  let open = (): void => undefined;
  const gate = new Promise<void>((resolve) => (open = resolve));
  const held = new Map<string, number>();
  const work = async (city: string): Promise<void> => {
    held.set(city, (held.get(city) ?? 0) + 1);
    await gate;
  };
  const hold = (city: string): Promise<void> => asCity(city, () => transactions.run(() => work(city), { key: city }));
  const busy = CITIES.flatMap((city) => Array.from({ length: 8 }, () => hold(city)));
  await eventually(() => CITIES.every((city) => held.has(city)));
  expect(await asCity('calm', () => transactions.run(async () => 'written', { key: 'calm' }))).toBe('written');
  expect(await asCity('a', noted)).toBe(0);
  expect(await noted()).toBe(0);
  // The first was alone; who wants many beside others has one.
  expect(CITIES.slice(1).map((city) => held.get(city))).toEqual([1, 1, 1, 1]);
  open();
  await Promise.all(busy);
  expect(CITIES.map((city) => held.get(city))).toEqual([8, 8, 8, 8, 8]);
});
