import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { sql } from 'kysely';
import { ConfigFixture } from '../../../../test/support/config-fixture.js';
import type { ConfigProcess } from '../../../../test/support/config-process.js';
import { registerCity } from '../../../../test/support/registry.js';
import { putSession, type StoredSession } from '../../../../test/support/session-examples.js';
import { ANYBODY } from '../../../contract/principal.js';
import type { CitiesUsageBody, UsageSeriesBody } from '../../../contract/usage.schemas.js';
import type { Lifecycle } from '../../../platform/health/lifecycle.js';
import { AppLogger, createLogger } from '../../../platform/logging/logger.js';
import { Following } from '../../configuration/config/following.js';
import { FollowingRepository } from '../../configuration/config/following.repository.js';
import type { CityConfig } from '../../files/composition/city-config.js';
import { timesAfter } from '../../orchestration/orders/wall-clock.js';
import { SessionDeletionsRepository } from '../sessions/session-deletions.repository.js';
import type { SessionResolver } from '../session-names/session-resolver.service.js';
import { CitiesUsageRepository } from './cities-usage.repository.js';
import { CitiesUsageService } from './cities-usage.service.js';
import { UsageSeriesRepository } from './usage-series.repository.js';
import { UsageSeriesService } from './usage-series.service.js';
import { UsageSync } from './usage-sync.js';
import { UsageSyncRepository } from './usage-sync.repository.js';
import { CitiesUsageQuery, UsageSeriesQuery } from './usage.schemas.js';
import { UsageRepository } from './usage.repository.js';
import { REMOVED, UsageService } from './usage.service.js';
import { zoneOf } from './zone.js';

const CITY = `[workspace]
start_command = "agent"
timezone = "Pacific/Kiritimati"
[[pricing]]
provider = "loopback"
model = "small"
tier = { prompt_usd_per_1m = 1.0, completion_usd_per_1m = 10.0 }
`;

let fixture: ConfigFixture;
let sync: readonly UsageSync[];
let mayor: StoredSession;
let other: StoredSession;

beforeAll(async () => {
  fixture = await ConfigFixture.open();
  await write(CITY);
  for (const [name, session] of [
    ['beta', 'be-1'],
    ['gamma', undefined],
  ] as const) {
    await registerCity(fixture.a.db, name, fixture.at(`../${name}`));
    if (session !== undefined) other = await putSession(fixture.database.url, name, { id: session, agent: 'builder' });
  }
  mayor = await putSession(fixture.database.url, 'alpha', { id: 'al-1' });
  const log = new AppLogger(createLogger('silent'));
  sync = [fixture.a, fixture.b].map(
    ({ db, reads, transactions }: ConfigProcess) =>
      new UsageSync(
        new UsageSyncRepository(),
        new Following(new FollowingRepository(db), reads, transactions, log),
        undefined as unknown as Lifecycle,
        log,
      ),
  );
});
afterAll(() => fixture?.close());
beforeEach(() => sql`delete from session_turns`.execute(fixture.a.db));

async function write(text: string): Promise<void> {
  await fixture.write('city.toml', text);
  await fixture.a.reloads.reload(fixture.city, 'reload', 'test');
}
const follow = async (): Promise<number> => (await Promise.all(sync.map((one) => one.follow()))).reduce((sum, n) => sum + n);

let turns = 0;
async function turn({ pk }: StoredSession, ago: string, tokens: number, more: { model?: string; cost?: number } = {}): Promise<void> {
  await sql`
    insert into session_turns (session_pk, turn, stream_id, generation, started_at, ended_at, model, input_tokens, cost_usd, reported)
    select pk, ${++turns}, stream_id, 1, now() - ${ago}::interval - interval '2 seconds', now() - ${ago}::interval,
      ${more.model ?? 'small'}, ${tokens}, ${more.cost ?? null}, true from sessions where pk = ${pk}`.execute(fixture.a.db);
}

describe('the usage of all cities', () => {
  const service = (): CitiesUsageService => new CitiesUsageService(new CitiesUsageRepository(fixture.b.db));
  const list = (query: object = {}, cities?: readonly string[]): Promise<CitiesUsageBody> =>
    service().list(CitiesUsageQuery.parse(query), { ...ANYBODY, cities });

  it('is priced as each city says, once a worker has seen it, whichever', async () => {
    await turn(mayor, '1 minute', 1_000_000);
    await turn(other, '2 hours', 500, { cost: 0.5 });
    const before = await list();
    expect(before.items.map(({ city, recent, last_24h }) => [city, recent.unpriced, last_24h.cost_usd_estimate])).toEqual([
      ['alpha', 1, 0],
      ['beta', 0, 0.5],
      ['gamma', 0, 0],
    ]);
    expect(before).toMatchObject({ total: 3, partial: true, partial_reasons: expect.arrayContaining([expect.stringContaining('alpha')]) });
    expect([await follow(), await follow()]).toEqual([1, 0]);
    const [alpha, beta] = (await list({ cities: 'alpha,beta' })).items;
    expect(alpha).toMatchObject({ recording: true, recent: { cost_usd_estimate: 1, unpriced: 0, compute_facts: 1, wall_seconds: 2 } });
    expect(beta).toMatchObject({ recent: { compute_facts: 0 }, last_24h: { compute_facts: 1, input_tokens: 500 } });
    expect(await service().today([fixture.city.streamId])).toEqual(
      new Map([[fixture.city.streamId, { streamId: fixture.city.streamId, cost: alpha!.today.cost_usd_estimate, unpriced: 0 }]]),
    );
  });

  it('comes in pages, of the cities that a key may see', async () => {
    const first = await list({ limit: '2' });
    expect([first.items.map(({ city }) => city), first.total, first.next_cursor]).toEqual([['alpha', 'beta'], 3, 'beta']);
    const second = await list({ limit: '2', cursor: 'beta' });
    expect([second.items.map(({ city }) => city), second.total, second.next_cursor]).toEqual([['gamma'], 3, undefined]);
    for (const seen of [await list({}, ['beta']), await list({ cities: 'alpha,beta' }, ['beta'])])
      expect([seen.items.map(({ city }) => city), seen.total]).toEqual([['beta'], 1]);
  });

  it('is nothing of a city that keeps no account, and in UTC where the server knows no such zone', async () => {
    await write(`${CITY}[usage]\nprovider = "discard"\n`);
    await turn(mayor, '1 minute', 7);
    expect(await follow()).toBe(1);
    expect((await list({ cities: 'alpha' })).items).toMatchObject([{ recording: false, recent: { input_tokens: 0 } }]);
    expect((await service().today([fixture.city.streamId])).size).toBe(0);
    const { rows } = await sql`select known_zone('No/Where') as none, known_zone('Europe/Rome') as one`.execute(fixture.a.db);
    expect(rows).toEqual([{ none: 'UTC', one: 'Europe/Rome' }]);
    await write(CITY);
    await follow();
  });
});

describe('the time zone of a city', () => {
  // Guard: zones are told to the database by their places.
  it('is the same clock to the database as to schedules, whatever name it is given', async () => {
    const zones = [
      'UTC',
      'gmt',
      'Asia/Kolkata',
      'CET',
      'EST',
      'EST5EDT',
      'IST',
      'BST',
      'VST',
      'NET',
      'ACT',
      '+05:30',
      '-08:00',
      'Etc/GMT+5',
    ];
    const noons = ['2025-01-15T12:00:00Z', '2025-07-15T12:00:00Z'];
    const asked = zones.map((timezone) => zoneOf({ workspace: { timezone } } as CityConfig));
    const { rows } = await sql<{ at: Date }>`
      select (date_trunc('day', n::timestamptz at time zone z) + interval '1 day') at time zone z as at
      from unnest(${asked}::text[]) with ordinality as zones(z, nth) cross join unnest(${noons}::text[]) n order by nth, n`.execute(
      fixture.a.db,
    );
    const midnights = zones.flatMap((zone) => noons.map((noon) => timesAfter('0 0 * * *', zone, new Date(noon))[0]));
    expect(rows.map(({ at }) => at)).toEqual(midnights);
  });
});

describe('usage over time', () => {
  const series = async (query: object = {}, most?: number): Promise<UsageSeriesBody> =>
    (
      await new UsageSeriesService(fixture.b.reads, new UsageSeriesRepository(fixture.b.db)).city(
        fixture.city,
        UsageSeriesQuery.parse(query),
        most,
      )
    ).value;
  const at = (point: { at: string }): number => Date.parse(point.at);

  it('has a bucket for whatever ended in it, the oldest first', async () => {
    await turn(mayor, '10 minutes', 10);
    await turn(mayor, '10 minutes', 20);
    await turn(mayor, '5 hours', 1_000_000);
    await turn(mayor, '3 days', 9);
    const { points, bucket_s, since, until, partial } = await series();
    expect([bucket_s, partial]).toEqual([900, undefined]);
    expect(points.map(({ input_tokens, compute_facts, wall_seconds }) => [input_tokens, compute_facts, wall_seconds])).toEqual([
      [1_000_000, 1, 2],
      [30, 2, 4],
    ]);
    expect(points[0]).toMatchObject({ cost_usd_estimate: 1, unpriced: 0 });
    for (const point of points)
      expect([at(point) % 900_000, at(point) >= Date.parse(since), at(point) < Date.parse(until)]).toEqual([0, true, true]);
    expect((await series({ since: '6h', until: '1h', bucket: '1h' })).points).toHaveLength(1);
  });

  it('has days that begin at midnight in the city', async () => {
    await turn(mayor, '1 minute', 1);
    const [day] = (await series({ since: '168h', bucket: '24h' })).points;
    // Fourteen hours ahead.
    expect(at(day!) % 86_400_000).toBe(10 * 3_600_000);
    const query = { since: 3_600_000, until: 0, bucket: 86_400_000, zone: 'Mars/Base', by: undefined, groups: 1, most: 10, prices: [] };
    const elsewhere = await new UsageSeriesRepository(fixture.b.db).city(fixture.city.streamId, query);
    expect(elsewhere.first.getTime() % 86_400_000).toBe(0);
  });

  it('tells apart who used most, and has all others as one', async () => {
    for (let n = 0; n < 25; n++) await turn(mayor, '1 minute', 1_000 - n, { model: `m${n}` });
    const { points } = await series({ by: 'model', since: '1h', bucket: '1h' });
    const last = points.filter((point) => at(point) === at(points.at(-1)!));
    expect(points.map(({ of }) => of).slice(0, 2)).toEqual(['m0', 'm1']);
    expect([last.length, last.filter(({ others }) => others).map((one) => [one.of, one.compute_facts])]).toEqual([21, [[undefined, 5]]]);
    expect((await series({ by: 'agent' })).points.map(({ of }) => of)).toEqual(['mayor']);
    expect((await series({ by: 'session' })).points.map(({ of }) => of)).toEqual(['al-1']);
    expect((await series({ by: 'model', since: '999m', bucket: '1m' })).points.map(({ others }) => others)).toContain(true);
  });

  it('looks at so many turns, the newest, and says where they begin', async () => {
    await turn(mayor, '5 hours', 5);
    await turn(mayor, '3 hours', 3);
    await turn(mayor, '1 hour', 1);
    const { points, since, partial, partial_reasons } = await series({ bucket: '1h' }, 2);
    expect([points.map(({ input_tokens }) => input_tokens), partial, partial_reasons]).toEqual([
      [3, 1],
      true,
      [expect.stringContaining('2')],
    ]);
    expect(Date.now() - Date.parse(since)).toBeLessThan(5 * 3_600_000);
  });

  // Guard: what was used and is not there any more is not passed over in silence.
  it('says that it is not all where sessions of that time were deleted, as do the other sums', async () => {
    const gone = await putSession(fixture.database.url, 'alpha', { id: 'al-2' });
    await turn(gone, '3 days', 7);
    await turn(gone, '2 hours', 7);
    await turn(mayor, '1 hour', 1);
    await sql`update sessions set state = 'closed', closed_at = now(), delete_pending = true where pk = ${gone.pk}`.execute(fixture.a.db);
    expect(await new SessionDeletionsRepository(fixture.a.db).delete(gone.pk)).toBe(true);
    const reasons = [REMOVED];
    expect(await series()).toMatchObject({ partial: true, partial_reasons: reasons });
    expect((await series({ since: '1h' })).partial).toBeUndefined();
    const city = new UsageService(fixture.b.reads, new UsageRepository(fixture.b.db), undefined as unknown as SessionResolver);
    expect((await city.city(fixture.city, false)).value).toMatchObject({ partial: true, partial_reasons: reasons });
    const { partial_reasons } = await new CitiesUsageService(new CitiesUsageRepository(fixture.b.db)).list(
      CitiesUsageQuery.parse({}),
      ANYBODY,
    );
    expect(partial_reasons).toContain(`city alpha: ${REMOVED}`);
    await sql`update usage_cities set removed_until = now() - interval '3 days'`.execute(fixture.a.db);
    expect([(await series()).partial, (await city.city(fixture.city, false)).value.partial]).toEqual([undefined, undefined]);
  });
});
