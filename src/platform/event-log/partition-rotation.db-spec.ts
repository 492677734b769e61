import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { sql } from 'kysely';
import { cloneDatabase, type TestDatabase } from '../../../test/support/database.js';
import { registerCity } from '../../../test/support/registry.js';
import { eventually } from '../../../test/support/sse.js';
import { createDb, createPool, type Db } from '../database/database.js';
import { Transactions } from '../database/transactions.js';
import { Failpoints } from '../failpoints/failpoints.js';
import { PartitionRotation } from './partition-rotation.js';
import { EventPartitions, type PartitionedLog } from './partitions.js';
import { EventSegments } from './segments.js';

const HOUR = 3_600_000;
const DAY = 24 * HOUR;
const KEPT = 8 * DAY;

let database: TestDatabase;
let db: Db;
let transactions: Transactions;
const partitions = new EventPartitions();

/** A worker that waits for nobody who reads. */
function worker(graceMs = 0, smallBytes = 16_777_216): PartitionRotation {
  const rotation = new PartitionRotation(transactions, partitions);
  Object.assign(rotation, { graceMs, smallBytes });
  return rotation;
}
const found = async (): Promise<PartitionedLog> => (await transactions.run((tx) => partitions.find(tx)))!;
async function append(n: number, stream = 'alpha'): Promise<void> {
  const events = Array.from({ length: n }, (_, i) => ({ stream, type: 'x', actor: 'a', payload: { i } }));
  await sql`select * from append_events(${JSON.stringify(events)}::jsonb)`.execute(db);
}
const age = (days: number, upto: number) => sql`update events set ts = ts - ${days} * interval '1 day' where seq <= ${upto}`.execute(db);
const seqs = async (): Promise<number[]> =>
  (
    await sql<{
      seq: number;
    }>`select e.seq from events e join event_streams s on s.id = e.stream_id where s.name = 'alpha' order by 1`.execute(db)
  ).rows.map(({ seq }) => seq);
const stream = () => db.selectFrom('event_streams').select(['head', 'floor']).where('name', '=', 'alpha').executeTakeFirstOrThrow();
const tables = async (): Promise<string[]> =>
  (
    await sql<{
      name: string;
    }>`select relname as name from pg_class where relname like 'events%' and relkind in ('r', 'p') order by 1`.execute(db)
  ).rows.map(({ name }) => name);
/** A partition of a time that is over, with what was written in it. */
async function past(days: number, n: number): Promise<void> {
  const from = new Date(Math.floor((Date.now() - (days + 1) * DAY) / HOUR) * HOUR);
  await transactions.run((tx) => partitions.add(tx, { from, to: new Date(from.getTime() + DAY) }));
  const before = (await stream()).head;
  await append(n);
  await sql`update events set ts = ${new Date(from.getTime() + HOUR)} where seq > ${before}`.execute(db);
}

beforeEach(async () => {
  database = await cloneDatabase();
  db = createDb(createPool(database.url, { max: 8 }));
  transactions = new Transactions(db, new Failpoints());
  await registerCity(db, 'alpha', '/alpha');
});
afterEach(async () => {
  await db.destroy();
  await database.drop();
});

describe('a log whose events have a retention time', () => {
  it('stays one table where everything is kept, or less than a day', async () => {
    expect(await worker().round(undefined)).toEqual({ dropped: 0, since: undefined });
    expect(await worker().round(DAY - 1)).toEqual({ dropped: 0, since: undefined });
    expect(await tables()).toEqual(['events']);
  });

  it('is partitioned while others write and read, and no event moves or is missed', async () => {
    await append(3);
    let writing = true;
    const writer = async (): Promise<void> => {
      while (writing) await append(1);
    };
    const reader = async (): Promise<void> => {
      while (writing) {
        const { rows } = await sql<{ whole: boolean }>`
          select (select count(*) from events e where e.stream_id = s.id) = s.head as whole from event_streams s where s.name = 'alpha'`.execute(
          db,
        );
        expect(rows).toEqual([{ whole: true }]);
      }
    };
    const others = [writer(), writer(), reader()];
    const rounds = await Promise.all([worker().round(KEPT), worker().round(KEPT)]);
    await worker().round(KEPT);
    writing = false;
    await Promise.all(others);
    expect(rounds.map(({ dropped }) => dropped)).toEqual([0, 0]);
    const { partitions: made, detached } = await found();
    expect(detached).toEqual([]);
    expect(made.map(({ from, to }) => (to.getTime() - from.getTime()) / DAY)).toEqual([2]);
    expect(made[0]!.from.getTime()).toBeGreaterThan(Date.now());
    const { head } = await stream();
    expect(await seqs()).toEqual(Array.from({ length: head }, (_, i) => i + 1));
  });

  it('is partitioned while others write, however large it is', async () => {
    await append(3);
    const [{ since }] = await Promise.all([worker(0, -1).round(KEPT), append(1), append(1), append(1)]);
    await append(1);
    expect(since!.getTime()).toBeGreaterThan(Date.now());
    expect((await found()).hasReservedSpan).toBe(false);
    expect(await seqs()).toEqual([1, 2, 3, 4, 5, 6, 7]);
  });

  it('raises the floors above a partition first, and drops it when its readers have ended', async () => {
    const rotation = worker(HOUR);
    await rotation.round(KEPT);
    await past(20, 5);
    await past(2, 3);
    await append(2);
    expect((await rotation.round(KEPT)).dropped).toBe(0);
    expect(await stream()).toEqual({ head: 10, floor: 5 });
    expect(await seqs()).toHaveLength(10);
    rotation.graceMs = 0;
    expect((await rotation.round(KEPT)).dropped).toBe(1);
    expect(await stream()).toEqual({ head: 10, floor: 5 });
    expect(await seqs()).toEqual([6, 7, 8, 9, 10]);
    expect((await tables()).filter((name) => name !== 'events' && name !== 'events_rest')).toEqual(
      (await found()).partitions.map(({ name }) => name).sort(),
    );
    expect((await rotation.round(KEPT)).dropped).toBe(0);
  });

  it('drops by the clock of the database, however wrong that of the worker is', async () => {
    const rotation = worker(HOUR);
    await rotation.round(KEPT);
    await past(20, 5);
    await past(2, 3);
    await rotation.round(KEPT);
    const now = Date.now();
    const clock = jest.spyOn(Date, 'now').mockImplementation(() => now + 400 * DAY);
    try {
      // Neither is what is young old, nor have those who read ended sooner.
      expect((await rotation.round(KEPT)).dropped).toBe(0);
      expect(await stream()).toEqual({ head: 8, floor: 5 });
    } finally {
      clock.mockRestore();
    }
  });

  // Guard: segments are forgotten with what was in them.
  it('drops a partition with its segments, also while one of them is being dropped', async () => {
    const rotation = worker();
    await rotation.round(KEPT);
    await past(20, 5);
    await append(5);
    await sql`insert into event_segments (stream_id, first_seq, last_seq) select id, 1, 4 from event_streams where name = 'alpha'
      union all select id, 5, 7 from event_streams where name = 'alpha'`.execute(db);
    const segments = new EventSegments();
    const left = async (): Promise<number[]> =>
      (await sql<{ last: number }>`select last_seq as last from event_segments order by 1`.execute(db)).rows.map(({ last }) => last);
    await transactions.run(async (tx) => {
      // What another worker does that has begun with the rows.
      await sql`select 1 from event_segments where last_seq = 4 for update`.execute(tx);
      await rotation.round(KEPT);
      expect((await stream()).floor).toBe(5);
      await transactions.run((other) => segments.forget(other, 10));
      expect(await left()).toEqual([4, 7]);
    });
    await transactions.run((tx) => segments.forget(tx, 10));
    expect(await left()).toEqual([7]);
  });

  // Guards: of two workers one drops a segment, the other a part with it: neither waits for the other for ever, and the floor does not go back.
  it('raises a floor while a segment below it is being dropped', async () => {
    await worker().round(KEPT);
    await past(20, 5);
    const { partitions: made } = await found();
    await sql`insert into event_segments (stream_id, first_seq, last_seq) select id, 1, 4 from event_streams where name = 'alpha'`.execute(
      db,
    );
    let dropping!: Promise<boolean>;
    await transactions.run(async (tx) => {
      const { rows } = await sql<{ id: number }>`select id, pg_advisory_xact_lock(1, id) from event_streams where name = 'alpha'`.execute(
        tx,
      );
      dropping = transactions.run((other) => new EventSegments().dropOldest(other, KEPT, 2));
      const waiting = sql`select 1 from pg_locks where locktype = 'advisory' and not granted and database = (select oid from pg_database where datname = current_database())`;
      await eventually(async () => (await waiting.execute(db)).rows.length > 0);
      await partitions.raiseFloor(tx, made[0]!.name, rows[0]!.id, new Date(Date.now() - KEPT));
    });
    expect(await dropping).toBe(true);
    expect(await stream()).toEqual({ head: 5, floor: 5 });
  });

  it('drops the default partition when all of it is old, and has an empty one then', async () => {
    await append(4);
    await worker().round(KEPT);
    await age(20, 4);
    await past(2, 3);
    expect((await worker().round(KEPT)).dropped).toBe(1);
    expect(await seqs()).toEqual([5, 6, 7]);
    expect(await stream()).toEqual({ head: 7, floor: 4 });
    await append(1);
    expect(await seqs()).toEqual([5, 6, 7, 8]);
    expect((await found()).detached).toEqual([]);
  });

  it('loses nothing that is written while the default partition is replaced', async () => {
    await worker().round(KEPT);
    for (let n = 0; n < 5; n++) {
      await age(20, Number.MAX_SAFE_INTEGER);
      const { head: old } = await stream();
      await Promise.all([worker().round(KEPT), append(1), append(1), append(1), append(1)]);
      const { head, floor } = await stream();
      expect((await seqs()).filter((seq) => seq > floor)).toHaveLength(head - floor);
      expect(floor).toBeLessThanOrEqual(old);
    }
  });

  it('drops a partition once, though two workers are at it', async () => {
    await worker().round(KEPT);
    await past(20, 5);
    await past(30, 5);
    const dropped = await Promise.all([worker(), worker(), worker()].map((each) => each.round(KEPT)));
    // Each may have met another one at it, and left it for its next round.
    dropped.push(await worker().round(KEPT));
    expect(dropped.reduce((sum, each) => sum + each.dropped, 0)).toBe(2);
    expect(await seqs()).toEqual([]);
  });

  it('goes on where a worker has died with a detached partition and a reserved span', async () => {
    await worker().round(KEPT);
    await past(20, 5);
    const [old] = (await found()).partitions;
    await transactions.run((tx) => partitions.detach(tx, old!.name));
    await transactions.run((tx) => partitions.reserve(tx, { from: new Date(0), to: new Date('2000-01-01') }));
    const held = await found();
    expect([held.hasReservedSpan, held.detached]).toEqual([true, [old!.name]]);
    await worker().round(KEPT);
    const left = await found();
    expect([left.hasReservedSpan, left.detached]).toEqual([false, []]);
    await append(1);
  });

  // Guards: a partition begins after what the default partition has of its time; a reserved span that got no partition is released.
  describe('where the clock of the database was ahead for a while', () => {
    const ahead = 2 * DAY + 8 * HOUR;
    /** A stream that was written meanwhile, goes on there, and is in the default partition. */
    const wasWritten = async (): Promise<void> => {
      await append(1, 'beta');
      await sql`update event_streams set last_ts = now() + ${ahead / HOUR} * interval '1 hour' where name = 'beta'`.execute(db);
      await append(1, 'beta');
    };

    it.each([
      ['a large default partition', -1],
      ['a small one', 16_777_216],
    ])('makes its partitions after what was written in that time, and refuses no write (%s)', async (_, smallBytes) => {
      await registerCity(db, 'beta', '/beta');
      await append(3);
      await wasWritten();
      for (let n = 0; n < 3; n++) {
        await worker(0, smallBytes).round(KEPT);
        await append(1);
        await append(1, 'beta');
      }
      const { partitions: made, hasReservedSpan } = await found();
      expect(made.length).toBeGreaterThan(0);
      for (const { from, to } of made) expect(from.getTime() > Date.now() + ahead || to.getTime() < Date.now() + ahead).toBe(true);
      expect(hasReservedSpan).toBe(false);
    });

    it('releases a reserved span in which events were written before', async () => {
      await registerCity(db, 'beta', '/beta');
      await worker().round(KEPT);
      await sql`drop table ${sql.table((await found()).partitions[0]!.name)}`.execute(db);
      const newest = partitions.newest.bind(partitions);
      const looked = jest.spyOn(partitions, 'newest').mockImplementationOnce(async (...asked) => {
        const found = await newest(...asked);
        await wasWritten();
        return found;
      });
      await expect(worker(0, -1).round(KEPT)).rejects.toThrow(/events_rest_free_check/);
      looked.mockRestore();
      expect((await found()).hasReservedSpan).toBe(false);
      await append(1, 'beta');
      await worker(0, -1).round(KEPT);
      await append(1, 'beta');
      expect((await found()).partitions).toHaveLength(1);
    });
  });

  // Guard: what was kept for long is dropped row by row once it is to be kept for less.
  it('drops events one by one where partitions are wider than the retention time', async () => {
    const wide = { from: new Date(Date.now() - 40 * DAY), to: new Date(Date.now() + 50 * DAY) };
    await append(1);
    await transactions.run((tx) => partitions.partition(tx));
    await age(50, 1);
    await transactions.run((tx) => partitions.add(tx, wide));
    await append(4);
    await sql`update events set ts = now() - interval '20 days' where seq between 2 and 4`.execute(db);
    const segments = new EventSegments();
    await sql`insert into event_segments (stream_id, first_seq, last_seq)
      select id, 1, 1 from event_streams where name = 'alpha' union all select id, 2, 4 from event_streams where name = 'alpha'`.execute(
      db,
    );
    const drop = async (keptMs: number): Promise<number[]> => {
      const { since } = await worker().round(keptMs);
      while (await transactions.run((tx) => segments.dropOldest(tx, keptMs, 2_000, since)));
      return seqs();
    };
    expect(await drop(100 * DAY)).toEqual([1, 2, 3, 4, 5]);
    expect(await drop(KEPT)).toEqual([5]);
    expect(await stream()).toEqual({ head: 5, floor: 4 });
    // The others are dropped as wholes again once it has gone.
    await sql`drop table ${sql.table((await found()).partitions[0]!.name)}`.execute(db);
    await worker().round(KEPT);
    expect((await worker().round(KEPT)).since).toEqual((await found()).partitions[0]!.from);
  });

  it('gives up waiting for a long read soon, and holds up nobody behind it', async () => {
    await worker().round(KEPT);
    await past(20, 5);
    let round!: Promise<{ dropped: number }>;
    await db.transaction().execute(async (tx) => {
      await sql`select count(*) from events`.execute(tx);
      round = worker().round(KEPT);
      for (let n = 0; n < 5; n++) await append(1);
      expect((await found()).partitions).toHaveLength(2);
    });
    expect((await round).dropped).toBe(1);
  });
});
