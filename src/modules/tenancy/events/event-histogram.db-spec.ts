import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { sql } from 'kysely';
import { cloneDatabase, type TestDatabase } from '../../../../test/support/database.js';
import { registerCity } from '../../../../test/support/registry.js';
import { ANYBODY } from '../../../contract/principal.js';
import { createDb, createPool, type Db } from '../../../platform/database/database.js';
import { EPOCH_STEP } from '../../../platform/event-log/epochs.js';
import { CityEventsRepository } from './city-events.repository.js';
import { EventHistogramRepository } from './event-histogram.repository.js';
import { EventHistogramService } from './event-histogram.service.js';
import { CityHistogramQuery, SupervisorHistogramQuery, type EventHistogramBody } from './events.schemas.js';
import { ListLimits } from './list-limits.js';

class Limits extends ListLimits {
  constructor(
    override readonly looks: number,
    override readonly fewStreams = 64,
  ) {
    super();
  }
}
/** Enough for each, but for every ninth. */
const [MANY, FEW] = [new Limits(50_000), new Limits(400)];
/** None of it is read stream by stream. */
const [ALL_BY_TIME, SOME_BY_TIME] = [new Limits(50_000, 0), new Limits(5_000, 0)];

let database: TestDatabase;
let db: Db;
const of = (limits: ListLimits): EventHistogramService =>
  new EventHistogramService(new EventHistogramRepository(db), new CityEventsRepository(db), limits);
const city = async (query: object, limits: ListLimits = MANY): Promise<EventHistogramBody> =>
  (await of(limits).city('alpha', CityHistogramQuery.parse(query), ANYBODY)).value;
const all = (query: object, limits: ListLimits = MANY, cities?: readonly string[]): Promise<EventHistogramBody> =>
  of(limits).supervisor(SupervisorHistogramQuery.parse(query), { ...ANYBODY, cities });
const counts = ({ points }: EventHistogramBody): [string | undefined, number][] => points.map(({ of: what, count }) => [what, count]);
const sum = (body: EventHistogramBody, what: string): number =>
  body.points.filter((point) => point.of === what).reduce((total, { count }) => total + count, 0);

/** Events of the last ten hours, the oldest first: of `alpha` 3,000 evenly, of `beta` ten, of the supervisor one about each. */
beforeAll(async () => {
  database = await cloneDatabase();
  db = createDb(createPool(database.url, { max: 3 }));
  const { streamId: alpha } = await registerCity(db, 'alpha', '/alpha');
  const { streamId: beta } = await registerCity(db, 'beta', '/beta');
  const put = async (stream: number, count: number, about: string | null = null): Promise<void> => {
    await sql`
      insert into events (stream_id, seq, ts, type, actor, subject, payload, size)
      select ${stream}, s.head + n, now() - interval '10 hours' * (1 - n::float8 / ${count}) - interval '5 seconds',
        case when ${about}::text is not null then 'request.failed' when n % 4 = 0 then 'x.rare' else 'x.often' end, 'actor-' || n % 30, ${about},
        jsonb_build_object('n', n % 2), 100
      from event_streams s, generate_series(1, ${count}) n where s.id = ${stream}`.execute(db);
    await sql`update event_streams set head = head + ${count}, last_ts = now() where id = ${stream}`.execute(db);
  };
  await put(alpha, 3_000);
  await put(beta, 10);
  const { rows } = await sql<{ id: number }>`select id from event_streams where name = '__supervisor__'`.execute(db);
  for (const name of ['alpha', 'beta']) await put(rows[0]!.id, 1, name);
  // In the middle of it an epoch began.
  await sql`update events set seq = seq + ${EPOCH_STEP}::bigint where stream_id = ${alpha} and seq > 1500`.execute(db);
  await sql`update event_streams set head = head + ${EPOCH_STEP}::bigint, epoch_ends = '{1500}' where id = ${alpha}`.execute(db);
  await sql`analyze events`.execute(db);
});
afterAll(async () => {
  await db?.destroy();
  await database?.drop();
});

describe('a histogram of the events of a city', () => {
  it('has what there is in each bucket, exactly, however many looks it has', async () => {
    for (const limits of [MANY, FEW]) {
      const body = await city({ since: '11h', bucket: '1h' }, limits);
      expect([body.total, body.total_is_estimate, body.bucket_s]).toEqual([3_000, undefined, 3_600]);
      for (const { at } of body.points) expect(Date.parse(at) % 3_600_000).toBe(0);
      for (const { count } of body.points.slice(1, -1)) expect(count).toBe(300);
      expect(body.points.at(-1)!.at < body.until).toBe(true);
    }
  });

  it('counts what filters let through, and tells kinds and actors apart', async () => {
    const often = await city({ since: '11h', by: 'type' });
    expect([sum(often, 'x.often'), sum(often, 'x.rare'), often.total_is_estimate]).toEqual([2_250, 750, undefined]);
    expect((await city({ since: '11h', type: 'x.rare', payload_match: 'n=0' })).total).toBe(750);
    expect((await city({ since: '11h', type: 'x.rare', payload_match: 'n=1' })).total).toBe(0);
    const actors = await city({ since: '720h', bucket: '720h', by: 'actor' });
    const last = actors.points.filter(({ at }) => at === actors.points.at(-1)!.at);
    expect([last.length, last.filter(({ others }) => others)]).toEqual([21, [expect.objectContaining({ others: true })]]);
    expect(actors.total).toBe(3_000);
  });

  it('estimates from evenly spread events what it has no looks for', async () => {
    const body = await city({ since: '11h', bucket: '1h', by: 'type' }, FEW);
    expect(body.total_is_estimate).toBe(true);
    for (const [what, real] of [
      ['x.often', 2_250],
      ['x.rare', 750],
    ] as const)
      expect(Math.abs(sum(body, what) - real)).toBeLessThan(real / 3);
  });

  it('ends where it is told to', async () => {
    const { points, total } = await city({ since: '5h', until: '3h', bucket: '30m' });
    expect(total).toBeGreaterThan(590);
    expect(total).toBeLessThan(760);
    expect(points.length).toBeGreaterThanOrEqual(4);
    expect(await city({ since: '800h', until: '700h' })).toMatchObject({ points: [], total: 0 });
  });

  it('is that of a running city which the caller may see', async () => {
    for (const [name, cities] of [
      ['nobody', undefined],
      ['alpha', ['beta']],
    ] as const)
      await expect(of(MANY).city(name, CityHistogramQuery.parse({}), { ...ANYBODY, cities })).rejects.toMatchObject({
        kind: { status: 404 },
      });
  });
});

describe('a histogram of all events', () => {
  it.each([
    ['stream by stream', MANY],
    ['by time', ALL_BY_TIME],
  ])('is exact where there are looks enough, read %s', async (_, limits) => {
    const asked = { since: '11h', bucket: '1h' };
    expect((await all(asked, limits)).total).toBe(3_012);
    expect(counts(await all({ ...asked, type: 'request.failed', by: 'type' }, limits))).toEqual([['request.failed', 2]]);
    expect(await all({ ...asked, cities: 'beta' }, limits)).toMatchObject({ total: 11 });
    const seen = await all({ ...asked, by: 'type' }, limits, ['beta']);
    expect([sum(seen, 'request.failed'), seen.total, seen.total_is_estimate]).toEqual([1, 11, undefined]);
    expect((await all(asked, limits, [])).total).toBe(0);
  });

  // Guard: how many events all cities have tells of others.
  it('has longer buckets for a limited key with many cities, of which it reads each', async () => {
    class FewWindows extends Limits {
      override readonly windows = 4;
    }
    const body = await all({ since: '11h', bucket: '1h', by: 'type' }, new FewWindows(50_000), ['beta']);
    expect([body.bucket_s, body.total, body.total_is_estimate]).toEqual([6 * 3_600, 11, undefined]);
  });

  it('is estimated by how far the first events of each slice reach', async () => {
    for (const query of [{}, { by: 'type' }]) {
      const body = await all({ since: '11h', bucket: '1h', ...query }, new Limits(300, 0));
      expect(body.total_is_estimate).toBe(true);
      expect(Math.abs(body.total - 3_012)).toBeLessThan(1_000);
    }
    expect((await all({ since: '11h', bucket: '1h' }, SOME_BY_TIME)).total).toBe(3_012);
  });
});
