import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { sql } from 'kysely';
import { cloneDatabase, type TestDatabase } from '../../../test/support/database.js';
import { SUPERVISOR_STREAM } from '../../contract/scalars.js';
import { createDb, createPool, type Db } from '../database/database.js';
import { Transactions, type Tx } from '../database/transactions.js';
import { Failpoints } from '../failpoints/failpoints.js';
import { OperationClaimsRepository, type ClaimedRow } from './operation-claims.repository.js';
import { OperationsRepository } from './operations.repository.js';

const DONE = { state: 'succeeded', result: {} } as const;

let database: TestDatabase;
let db: Db;
let transactions: Transactions;
const repository = new OperationsRepository();
const claims = new OperationClaimsRepository();
let made = 0;

beforeAll(async () => {
  database = await cloneDatabase();
  db = createDb(createPool(database.url));
  transactions = new Transactions(db, new Failpoints());
});
afterAll(async () => {
  await db.destroy();
  await database.drop();
});

const run = <T>(work: (tx: Tx) => Promise<T>): Promise<T> => transactions.run(work);
const row = (id: string) => db.selectFrom('operations').selectAll().where('id', '=', id).executeTakeFirstOrThrow();
const claim = (owner: string, skip: string[] = [], after = '', holders: string[] = []): Promise<ClaimedRow | undefined> =>
  run((tx) => claims.claimNext(tx, owner, { after, holders, skip, leaseMs: 60_000, pickupMs: 0, deadlines: { 'test.work': 60_000 } }));
const claimLost = (owner: string, skip: string[] = []): Promise<ClaimedRow | undefined> =>
  run((tx) => claims.claimLost(tx, owner, { skip, leaseMs: 60_000, kinds: ['test.work'] }));
const lose = (id: string) => sql`update operations set lease_until = now() - interval '1 s' where id = ${id}`.execute(db);

async function accepted(deadlineMs = 60_000): Promise<string> {
  const id = `req-${++made}`;
  const about = { id, kind: 'test.work', target: id, subject: id, stream: SUPERVISOR_STREAM, input: {}, eventCursor: '', deadlineMs };
  await run((tx) => repository.insert(tx, about));
  return id;
}

const late = { phase: 'late', deadlineMs: 60_000, anew: false };

// Guard: a phase would be told of a city that somebody else has.
it('publishes a phase with a write of the caller, or not at all', async () => {
  const id = await accepted();
  const { fence } = (await claim('first'))!;
  const before = await row(id);
  const other = await accepted();
  const write = (kind: string) => sql<{ id: string }>`
    update operations set subject = 'written' where id = ${other} and kind = ${kind} returning id`;
  expect(await repository.progressWith(db, id, fence, late, write('nothing'))).toEqual({ held: false, written: undefined });
  expect(await row(id)).toEqual(before);
  expect(await repository.progressWith(db, id, fence, late, write('test.work'))).toEqual({ held: true, written: { id: other } });
  expect(await row(id)).toMatchObject({ phase: 'late' });
  expect(await row(other)).toMatchObject({ subject: 'written' });
  for (const [ended, held] of [
    [id, fence],
    [other, 0],
  ] as const)
    expect(await run((tx) => repository.finish(tx, ended, held, DONE))).toBe(true);
});

// Whoever believes to hold an operation mostly finds out by itself; these are what is left when it does not.
describe('an operation that somebody else has by now', () => {
  it('is not renewed, put back, told of or ended by who had it before', async () => {
    const id = await accepted();
    const { fence } = (await claim('first'))!;
    await lose(id);
    await claimLost('second');
    const before = await row(id);
    const tried = [
      await run((tx) => repository.renew(tx, id, fence, 60_000)),
      await run((tx) => repository.progress(tx, id, fence, late)),
      (await repository.progressWith(db, id, fence, late, sql<{ one: number }>`select 1 as one`)).held,
      await run((tx) => repository.putBack(tx, id, fence, { delayMs: 0, counted: true, waitMs: 60_000 })),
      await run((tx) => repository.finish(tx, id, fence, DONE)),
    ];
    expect(tried).toEqual([false, false, false, false, false]);
    expect(await row(id)).toEqual(before);
  });

  it('is not claimed while its lease holds, and not once it has ended', async () => {
    const id = await accepted();
    const { fence } = (await claim('first'))!;
    const again = async () => [await claim('second'), await claimLost('second')];
    expect(await again()).toEqual([undefined, undefined]);
    expect(await run((tx) => repository.finish(tx, id, fence, DONE))).toBe(true);
    expect(await again()).toEqual([undefined, undefined]);
    expect(await run((tx) => repository.finish(tx, id, fence, DONE))).toBe(false);
  });

  it('keeps its lease until its deadline and no longer', async () => {
    const id = await accepted();
    const { fence } = (await claim('first'))!;
    expect(await run((tx) => repository.renew(tx, id, fence, 60_000))).toBe(true);
    await sql`update operations set deadline_at = now() - interval '1 s' where id = ${id}`.execute(db);
    expect(await run((tx) => repository.renew(tx, id, fence, 60_000))).toBe(false);
  });
});

describe('the time of an operation', () => {
  const left = async (id: string): Promise<number> => Math.round(((await row(id)).deadline_at.getTime() - Date.now()) / 60_000);

  it('counts from the claim, however long it has waited, and from the next one when it is put back', async () => {
    const id = await accepted(60 * 60_000);
    await sql`update operations set created_at = now() - interval '50 min', deadline_at = now() + interval '10 min' where id = ${id}`.execute(
      db,
    );
    const { fence, deadlineInMs } = (await claim('first'))!;
    expect([await left(id), Math.round(deadlineInMs / 60_000)]).toEqual([1, 1]);
    await run((tx) => repository.putBack(tx, id, fence, { delayMs: 0, counted: true, waitMs: 60 * 60_000 }));
    expect(await left(id)).toBe(60);
    await claim('second');
    expect(await left(id)).toBe(1);
    await lose(id);
    await sql`update operations set deadline_at = now() + interval '5 min' where id = ${id}`.execute(db);
    await claimLost('third');
    expect(await left(id)).toBe(5);
  });
});

// Guard: with the last worker dead the one number that says so stayed 0, for what sessions wait for has no turn at a worker.
describe('how long one has waited for a worker', () => {
  const minutes = async (): Promise<number> => Math.floor((await repository.waitingSeconds(db)) / 60);
  const worker = (ago: string) =>
    sql`insert into processes (id, role, hostname, version, heartbeat_at) values ('w', 'worker', 'h', '1', now() - ${ago}::interval)
      on conflict (id) do update set heartbeat_at = excluded.heartbeat_at`.execute(db);
  const external = async (ago: string): Promise<void> => {
    const id = `req-${++made}`;
    const about = { id, kind: 'test.work', target: id, subject: id, stream: 'a', input: {}, eventCursor: '', deadlineMs: 60_000 };
    await run((tx) => repository.insert(tx, { ...about, external: true }));
    await sql`update operations set created_at = now() - ${ago}::interval where id = ${id}`.execute(db);
  };
  beforeEach(() => sql`delete from operations`.execute(db));
  afterAll(() => sql`delete from processes`.execute(db));

  it('counts what no worker runs while none is alive, since the last one was', async () => {
    await sql`delete from processes`.execute(db);
    expect(await minutes()).toBe(0);
    await external('30 min');
    expect(await minutes()).toBe(30);
    await worker('5 min');
    expect(await minutes()).toBe(5);
    await worker('1 hour');
    expect(await minutes()).toBe(30);
    await worker('0 s');
    expect(await minutes()).toBe(0);
  });

  it('counts one that has lost its worker since its lease ended', async () => {
    await worker('0 s');
    const id = await accepted();
    await claim('dead');
    expect(await minutes()).toBe(0);
    await sql`update operations set lease_until = now() - interval '7 min' where id = ${id}`.execute(db);
    expect(await minutes()).toBe(7);
  });
});

describe('the next operation', () => {
  const cities = async (many: number, choose: () => Promise<ClaimedRow | undefined>): Promise<(string | undefined)[]> => {
    const found: (string | undefined)[] = [];
    for (let i = 0; i < many; i++) found.push((await choose())?.city);
    return found;
  };
  const waiting = async (city: string, ...after: string[]): Promise<void> => {
    for (const pause of after) {
      const id = `req-${++made}`;
      const about = { id, kind: 'test.work', target: id, subject: id, stream: city, input: {}, eventCursor: '', deadlineMs: 60_000 };
      await run((tx) => repository.insert(tx, about));
      await sql`update operations set run_after = now() + ${pause}::interval where id = ${id}`.execute(db);
    }
  };
  beforeEach(() => sql`delete from operations`.execute(db));

  it('is the oldest of the city that comes after the last, by name, and of none that is left out', async () => {
    await waiting('b', '-1 s', '-2 s');
    await waiting('a', '-3 s');
    await waiting('c', '-1 s', '-1 s');
    const { id } = (await claim('me', [], 'a'))!;
    expect(id).toBe((await sql<{ id: string }>`select id from operations where stream = 'b' order by run_after`.execute(db)).rows[0]!.id);
    let last = 'b';
    const round = async (): Promise<ClaimedRow | undefined> => {
      const row = await claim('me', [], last);
      last = row?.city ?? last;
      return row;
    };
    expect(await cities(3, round)).toEqual(['c', 'a', 'b']);
    expect(await cities(1, () => claim('me', ['c']))).toEqual([undefined]);
    expect(await cities(2, round)).toEqual(['c', undefined]);
  });

  it('is of a city that has a place already only where no other waits, and of these by name behind the last', async () => {
    await waiting('a', '-1 s', '-1 s');
    await waiting('b', '-1 s');
    await waiting('c', '-1 s');
    await waiting('d', '-1 s');
    const round = (): Promise<ClaimedRow | undefined> => claim('me', ['d'], 'b', ['a', 'b', 'c']);
    expect(await cities(5, round)).toEqual(['c', 'a', 'a', 'b', undefined]);
    await waiting('a', '-1 s');
    await waiting('e', '-1 s');
    expect(await cities(3, round)).toEqual(['e', 'a', undefined]);
  });

  it('is not one whose pause lasts, that no worker runs, or that another is about to take', async () => {
    await waiting('a', '1 hour', 'infinity');
    await waiting('b', '-1 s');
    await waiting('c', '-1 s');
    await run(async (tx) => {
      await sql`select from operations where stream = 'b' for update`.execute(tx);
      expect(await cities(2, () => claim('me'))).toEqual(['c', undefined]);
    });
    expect(await cities(2, () => claim('me'))).toEqual(['b', undefined]);
  });

  it('is of a kind that whoever asks can run, also when it has lost its worker', async () => {
    const [of, other] = [await accepted(), await accepted()];
    await sql`update operations set kind = 'test.newer', run_after = now() - interval '1 hour' where id = ${other}`.execute(db);
    expect(await cities(2, () => claim('me'))).toEqual([of, undefined]);
    await sql`update operations set state = 'running', lease_until = now() - interval '1 s' where id = ${other}`.execute(db);
    expect(await cities(1, () => claimLost('me'))).toEqual([undefined]);
  });

  it('is of the city that a request of the supervisor is about', async () => {
    const id = await accepted();
    expect(await cities(1, () => claim('me', [id]))).toEqual([undefined]);
    expect(await cities(1, () => claim('me'))).toEqual([id]);
    await lose(id);
    expect(await cities(1, () => claimLost('me', [id]))).toEqual([undefined]);
    expect(await cities(2, () => claimLost('me'))).toEqual([id, undefined]);
  });
});
