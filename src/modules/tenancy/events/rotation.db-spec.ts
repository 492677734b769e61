import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { sql } from 'kysely';
import { ANYBODY } from '../../../contract/principal.js';
import { AppConfig, loadConfig } from '../../../platform/config/config.js';
import { createDb, createPool, type Db } from '../../../platform/database/database.js';
import { Transactions } from '../../../platform/database/transactions.js';
import { EventLog } from '../../../platform/event-log/event-log.js';
import { MovedStreams } from '../../../platform/event-log/moved.js';
import { EventPartitions } from '../../../platform/event-log/partitions.js';
import { PartitionRotation } from '../../../platform/event-log/partition-rotation.js';
import { EventSegments } from '../../../platform/event-log/segments.js';
import { Failpoints } from '../../../platform/failpoints/failpoints.js';
import { Lifecycle } from '../../../platform/health/lifecycle.js';
import { AppLogger, createLogger } from '../../../platform/logging/logger.js';
import { cloneDatabase, type TestDatabase } from '../../../../test/support/database.js';
import { eventually } from '../../../../test/support/sse.js';
import { registerCity } from '../../../../test/support/registry.js';
import { CityEventsRepository } from './city-events.repository.js';
import { EventRetention } from './event-retention.js';
import { RotationService } from './rotation.service.js';

let database: TestDatabase;
let db: Db;
let transactions: Transactions;
let rotation: RotationService;
const segments = new EventSegments();

function retention(eventRetentionMs: number | undefined): EventRetention {
  const log = new AppLogger(createLogger('silent', {}));
  const config: AppConfig = loadConfig({}, '/tmp').with({ eventRetentionMs });
  return new EventRetention(
    config,
    transactions,
    segments,
    new PartitionRotation(transactions, new EventPartitions()),
    new Lifecycle(log),
    log,
  );
}
async function append(n: number): Promise<void> {
  const events = Array.from({ length: n }, (_, i) => ({ stream: 'alpha', type: 'x', actor: 'a', payload: { i } }));
  await sql`select * from append_events(${JSON.stringify(events)}::jsonb)`.execute(db);
}
const age = (hours: number, upto: number) => sql`update events set ts = ts - ${hours} * interval '1 hour' where seq <= ${upto}`.execute(db);
const stream = () =>
  db.selectFrom('event_streams').select(['head', 'floor', 'sealed_seq']).where('name', '=', 'alpha').executeTakeFirstOrThrow();
const seqs = async (): Promise<number[]> => (await db.selectFrom('events').select('seq').orderBy('seq').execute()).map((r) => r.seq);

beforeEach(async () => {
  database = await cloneDatabase();
  const pool = createPool(database.url);
  db = createDb(pool);
  transactions = new Transactions(db, new Failpoints());
  rotation = new RotationService(transactions, segments, new EventLog(new MovedStreams()), new CityEventsRepository(db));
  await registerCity(db, 'alpha', '/alpha');
});
afterEach(async () => {
  await db.destroy();
  await database.drop();
});

describe('rotating a log', () => {
  it('seals what is there, goes on with the anchor and keeps everything readable', async () => {
    expect(await rotation.rotate('alpha', ANYBODY)).toEqual({ rotated: false, reason: 'active log is empty' });
    await append(5);
    const first = await rotation.rotate('alpha', ANYBODY);
    expect(first).toMatchObject({
      rotated: true,
      archive: { path: 'alpha/events-1-5', first_seq: 1, last_seq: 5, compression_status: 'complete' },
      anchor_event: { seq: 6, type: 'events.rotated' },
    });
    await append(2);
    expect(await rotation.rotate('alpha', ANYBODY)).toMatchObject({ archive: { first_seq: 6, last_seq: 8 }, anchor_event: { seq: 9 } });
    expect(await seqs()).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9]);
    const anchor = await db.selectFrom('events').select(['payload', 'message']).where('seq', '=', 6).executeTakeFirstOrThrow();
    expect(anchor).toEqual({
      message: 'rotated to alpha/events-1-5',
      payload: { prior_archive: 'alpha/events-1-5', prior_first_seq: 1, prior_last_seq: 5 },
    });
  });

  it('seals each event once under concurrent rotations and appends', async () => {
    await append(3);
    const results = await Promise.all(
      Array.from({ length: 8 }, (_, i) => (i % 2 ? append(2).then(() => undefined) : rotation.rotate('alpha', ANYBODY))),
    );
    const sealed = results.flatMap((r) => (r?.archive === undefined ? [] : [r.archive])).sort((a, b) => a.first_seq - b.first_seq);
    let next = 1;
    for (const archive of sealed) {
      expect(archive.first_seq).toBe(next);
      next = archive.last_seq + 1;
    }
    expect((await stream()).sealed_seq).toBe(next - 1);
  });

  it('is not found for a city that does not run', async () => {
    await expect(rotation.rotate('beta', ANYBODY)).rejects.toThrow('not_found: city not found or not running: beta');
  });

  // Guard: it is looked whether the city runs before the log is had, too.
  it('is not found, and tells nothing, where the city stops while its log is waited for', async () => {
    await append(3);
    let rotated!: Promise<unknown>;
    await transactions.run(async (tx) => {
      await sql`update cities set running = false where name = 'alpha'`.execute(tx);
      await sql`select append_events(${JSON.stringify([{ stream: 'alpha', type: 'stopped', actor: 'a', payload: {} }])}::jsonb)`.execute(
        tx,
      );
      rotated = rotation.rotate('alpha', ANYBODY).catch((error: unknown) => error);
      const waiting = sql`select from pg_locks where locktype = 'advisory' and not granted`;
      await eventually(async () => (await waiting.execute(db)).rows.length > 0);
    });
    expect(await rotated).toMatchObject({ message: 'not_found: city not found or not running: alpha' });
    expect(await stream()).toMatchObject({ head: 4, sealed_seq: 0 });
  });
});

describe('retention', () => {
  it('keeps everything without an age, but seals what is long or old', async () => {
    await append(10);
    await age(25, 10);
    expect(await retention(undefined).round()).toBe(0);
    expect(await stream()).toEqual({ head: 10, floor: 0, sealed_seq: 10 });
    await append(10);
    await retention(undefined).round({ sealEvents: 11, sealMs: 3_600_000 });
    expect((await stream()).sealed_seq).toBe(10);
    await retention(undefined).round({ sealEvents: 10, sealMs: 3_600_000 });
    expect((await stream()).sealed_seq).toBe(20);
  });

  it('drops sealed events beyond the age in batches and raises the floor with them', async () => {
    await append(4_500);
    await rotation.rotate('alpha', ANYBODY);
    await append(10);
    await rotation.rotate('alpha', ANYBODY);
    await age(2, 4_500);
    expect(await retention(3_600_000).round()).toBe(3);
    expect(await stream()).toMatchObject({ floor: 4_500, head: 4_512 });
    expect((await seqs())[0]).toBe(4_501);
    expect(await db.selectFrom('event_segments').select('first_seq').execute()).toEqual([{ first_seq: 4_501 }]);
    expect(await retention(3_600_000).round()).toBe(0);
  });

  // Guard: what is kept for an hour is sealed in time to be dropped then.
  it('seals sooner what is kept for less than four days', async () => {
    await append(10);
    await age(2, 10);
    expect(await retention(3_600_000).round()).toBe(1);
    expect(await stream()).toEqual({ head: 10, floor: 10, sealed_seq: 10 });
    await append(10);
    await sql`update events set ts = ts - interval '14 minutes'`.execute(db);
    await retention(3_600_000).round();
    expect((await stream()).sealed_seq).toBe(10);
  });

  it('never lets a reader see a hole above the floor', async () => {
    await append(3_000);
    await rotation.rotate('alpha', ANYBODY);
    await age(2, 3_000);
    let reading = true;
    const reader = async (): Promise<void> => {
      while (reading) {
        const { rows } = await sql<{ floor: number; head: number; n: number }>`
          select s.floor, s.head, (select count(*) from events e where e.stream_id = s.id and e.seq > s.floor) as n
          from event_streams s where s.name = 'alpha'`.execute(db);
        expect(rows[0]!.n).toBe(rows[0]!.head - rows[0]!.floor);
      }
    };
    const readers = [reader(), reader()];
    await Promise.all([retention(3_600_000).round(), retention(3_600_000).round()]);
    reading = false;
    await Promise.all(readers);
    expect((await stream()).floor).toBe(3_000);
  });
});
