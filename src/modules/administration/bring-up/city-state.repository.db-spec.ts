import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { sql } from 'kysely';
import { eventually } from '../../../../test/support/sse.js';
import { cloneDatabase, type TestDatabase } from '../../../../test/support/database.js';
import { createDb, createPool, type Db } from '../../../platform/database/database.js';
import { Transactions } from '../../../platform/database/transactions.js';
import { EventLog } from '../../../platform/event-log/event-log.js';
import { MovedStreams } from '../../../platform/event-log/moved.js';
import { Failpoints } from '../../../platform/failpoints/failpoints.js';
import { CitiesRepository, type CityRow } from '../../tenancy/cities/cities.repository.js';
import type { Phase } from '../../tenancy/cities/city-phases.js';
import { CityStateRepository, type Failure, type HeldCity } from './city-state.repository.js';
import { ReservationsRepository } from '../../tenancy/cities/reservations.repository.js';

let database: TestDatabase;
let db: Db;
let transactions: Transactions;
let cities: CitiesRepository;
const state = new CityStateRepository();
const eventLog = new EventLog(new MovedStreams());

const HASH = 'h';
const failure: Failure = { code: 'city_config_failed', message: 'why', failureClass: 'structural', configHash: 'h1' };

beforeAll(async () => {
  database = await cloneDatabase();
  const pool = createPool(database.url, { max: 8 });
  db = createDb(pool);
  transactions = new Transactions(db, new Failpoints());
  cities = new CitiesRepository(pool);
});
afterAll(async () => {
  await db.destroy();
  await database.drop();
});
beforeEach(async () => {
  await sql`delete from cities`.execute(db);
  await transactions.run(async (tx) =>
    cities.insert(tx, { name: 'alpha', dir: '/c/alpha', streamId: await eventLog.joinStream(tx, 'alpha') }),
  );
});

const row = async (): Promise<CityRow> => (await cities.findByName(db, 'alpha'))!;
const take = async (): Promise<HeldCity> => (await state.take('alpha', 'w').execute(db)).rows[0]!;
const publish = async (held: HeldCity, phase: Phase): Promise<boolean> => (await state.publish(held, phase).execute(db)).rows.length === 1;
const fail = (held: HeldCity): Promise<boolean> => transactions.run((tx) => state.fail(tx, held, failure));
const retry = async (): Promise<HeldCity | undefined> => {
  const { id } = await row();
  return transactions.run((tx) => state.takeForRetry(tx, id, 'w'));
};

// Guard: who writes a city's work locks that before the row, so the other order would be a deadlock.
it('waits for the writers of the work of a city before it has its row', async () => {
  const { stream_id } = await db.selectFrom('cities').select('stream_id').where('name', '=', 'alpha').executeTakeFirstOrThrow();
  let locked = false;
  let locking: Promise<void> | undefined;
  await transactions.run(async (tx) => {
    await sql`select begin_work(${stream_id})`.execute(tx);
    locking = transactions.run((other) => state.lockWork(other, 'alpha')).then(() => void (locked = true));
    await eventually(async () => {
      const { rows } = await sql`select from pg_locks where locktype = 'advisory' and not granted
        and database = (select oid from pg_database where datname = current_database())`.execute(db);
      return rows.length === 1;
    });
    await sql`select from cities where name = 'alpha' for update nowait`.execute(tx);
    expect(locked).toBe(false);
  });
  await locking;
  expect(locked).toBe(true);
});

describe('a stop that could not be carried out', () => {
  it.each([
    ['runs', 'running', true, 'running'],
    ['was to be tried again', 'init_failed', false, 'running'],
    ['did not run', 'stopped', false, 'stopped'],
  ])('leaves a city that %s as it was', async (_, phase, running, desired) => {
    await sql`update cities set phase = ${phase}, running = ${running}, desired = 'stopped'`.execute(db);
    await transactions.run((tx) => state.revertStop(tx, 'alpha'));
    expect(await row()).toMatchObject({ phase, running, desired });
  });
});

describe('a held city', () => {
  it('is lost by its holder as soon as somebody else takes it', async () => {
    const old = await take();
    const now = await take();
    expect(await publish(old, 'starting_agents')).toBe(false);
    expect(await transactions.run((tx) => state.succeed(tx, old, HASH))).toBeUndefined();
    expect(await fail(old)).toBe(false);
    expect(await publish(now, 'starting_agents')).toBe(true);
    expect(await transactions.run((tx) => state.succeed(tx, now, HASH))).toEqual(expect.any(Number));
    expect(await row()).toMatchObject({ running: true, phase: 'running', config_hash: 'h' });
  });

  it('is lost to a stop request, so that a retry cannot start a city that shall not run', async () => {
    const held = await take();
    await transactions.run((tx) => cities.setDesired(tx, held.id, 'stopped'));
    expect(await transactions.run((tx) => state.succeed(tx, held, HASH))).toBeUndefined();
    expect(await transactions.run((tx) => state.stop(tx, 'alpha'))).toBe(false);
    expect(await row()).toMatchObject({ running: false, phase: 'stopped' });
    expect(await retry()).toBeUndefined();
  });
});

describe('a failed city', () => {
  it('waits 10 s, then twice as long, and starts afresh with a start request', async () => {
    for (const seconds of [10, 20, 40]) {
      await fail(await take());
      const { next_retry_at, updated_at } = await row();
      expect(next_retry_at!.getTime() - updated_at.getTime()).toBe(seconds * 1000);
      expect(await state.waiting(db, 10)).toMatchObject([{ due: false, config_hash: 'h1' }]);
    }
    const { id } = await row();
    await transactions.run((tx) => cities.resetForStart(tx, id));
    expect(await row()).toMatchObject({ failures: 0, error: null, phase: 'loading_config', next_retry_at: null });
  });

  it('is tried by one of many workers', async () => {
    await fail(await take());
    const tries = await Promise.all(Array.from({ length: 8 }, retry));
    expect(tries.filter((held) => held !== undefined)).toHaveLength(1);
    expect(await state.waiting(db, 10)).toEqual([]);
  });

  it('is taken up again when the worker that tried it vanished', async () => {
    await fail(await take());
    await retry();
    expect(await retry()).toBeUndefined();
    await sql`update cities set lease_until = now() - interval '1 s'`.execute(db);
    expect(await state.waiting(db, 10)).toMatchObject([{ due: true }]);
    expect(await retry()).toBeDefined();
  });

  it('is left alone while an operation works on it', async () => {
    await fail(await take());
    await sql`insert into operations (id, kind, target, stream, input, deadline_at)
      values ('req-1', 'city.start', 'alpha', '__supervisor__', '{}', now() + interval '1 minute')`.execute(db);
    expect(await state.waiting(db, 10)).toEqual([]);
    expect(await retry()).toBeUndefined();
    await sql`delete from operations`.execute(db);
  });
});

describe('reservations', () => {
  const reservations = new ReservationsRepository();
  const reservation = { dir: '/c/x', name: 'x', requestId: 'req-x', scaffold: { a: 1 } };

  it('belong to the sweeper once they have expired, and only to one', async () => {
    await transactions.run((tx) => reservations.insert(tx, reservation, 'p', 30));
    expect(await transactions.run((tx) => reservations.takeExpired(tx, 's', 30, 10))).toEqual([]);
    await sql`update city_reservations set expires_at = now() - interval '1 s'`.execute(db);
    const taken = await Promise.all(['s1', 's2', 's3'].map((s) => transactions.run((tx) => reservations.takeExpired(tx, s, 30, 10))));
    expect(taken.flat()).toEqual([reservation]);
    expect(await transactions.run((tx) => reservations.delete(tx, 'req-x', 'p'))).toBe(false);
    const owner = ['s1', 's2', 's3'][taken.findIndex((t) => t.length === 1)]!;
    expect(await transactions.run((tx) => reservations.delete(tx, 'req-x', owner))).toBe(true);
  });

  it('exclude each other by directory and by name', async () => {
    await transactions.run((tx) => reservations.insert(tx, reservation, 'p', 30));
    const insert = (dir: string, name: string): Promise<void> =>
      transactions.run((tx) => reservations.insert(tx, { ...reservation, dir, name, requestId: 'req-y' }, 'p', 30));
    await expect(insert('/c/x', 'y')).rejects.toMatchObject({ constraint: 'city_reservations_dir_pkey' });
    await expect(insert('/c/y', 'x')).rejects.toMatchObject({ constraint: 'city_reservations_name_key' });
  });
});
