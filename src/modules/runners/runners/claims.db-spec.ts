import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { sql } from 'kysely';
import { DEEP } from '../../../../test/support/depth.js';
import { eventually } from '../../../../test/support/sse.js';
import { registerCity } from '../../../../test/support/registry.js';
import type { CityScope } from '../../tenancy/cities/city-scope.js';
import { ClaimsRepository } from './claims.repository.js';
import type { SessionPatch } from '../../sessions/session-store/session-row.js';
import { TEST_TIMINGS, WANTED, type RunnerProcess } from './testing/runner-process.js';
import { RunnerFixture } from './testing/runner-fixture.js';

const SESSIONS = DEEP ? 200 : 60;
let fixture: RunnerFixture;

beforeEach(async () => {
  fixture = await RunnerFixture.open();
});
afterEach(() => fixture.close());

const held = async (): Promise<number[]> =>
  (
    await sql<{ n: number }>`
      select count(s.pk)::int as n from runners r left join sessions s on s.runner_id = r.id where r.state = 'active' group by r.id order by n`.execute(
      fixture.db,
    )
  ).rows.map(({ n }) => n);

describe('two runners', () => {
  it('start each session once, and end up with as many each', async () => {
    const maker = await fixture.runner('maker', { capacity: 0 });
    await sql`update cities set running = false`.execute(fixture.db);
    const pks: number[] = [];
    await maker.sessions.runInAnyState(fixture.city, 'test', async (changes) => {
      for (let i = 0; i < SESSIONS; i++) pks.push((await changes.create(WANTED)).pk);
    });
    await fixture.runner('a', { capacity: SESSIONS * 0.75 });
    await fixture.runner('b', { capacity: SESSIONS * 0.75 });
    expect(await held()).toEqual([0, 0]);
    await sql`update cities set running = true`.execute(fixture.db);
    await eventually(async () => (await live()) === SESSIONS);
    const { rows } = await sql<{ n: number; max: number }>`
      select count(*)::int as n, max(generation) as max from sessions where generation <> 1`.execute(fixture.db);
    expect(rows[0]).toEqual({ n: 0, max: null });
    expect(fixture.host.processes).toHaveLength(SESSIONS);
    expect(new Set(fixture.host.processes.map(({ session }) => session)).size).toBe(SESSIONS);
    expect((await fixture.events('session.starting')).length).toBe(SESSIONS);
    const [fewer, more] = await held();
    expect(more! - fewer!).toBeLessThanOrEqual(SESSIONS / 5);
  });

  it('take no more than they have room for', async () => {
    const a = await fixture.runner('a', { capacity: 2 });
    const b = await fixture.runner('b', { capacity: 1 });
    const made = [];
    for (let i = 0; i < 5; i++) made.push(await a.create(fixture.city));
    await eventually(async () => (await live()) === 3);
    // However long the others have been waiting.
    await sql`update sessions set wake_requested_at = now() - interval '1 hour' where not live`.execute(fixture.db);
    await Promise.all([a.runner.look(), b.runner.look()]);
    expect(await held()).toEqual([1, 2]);
    const { rows } = await sql<{ pk: number }>`select pk from sessions where live limit 1`.execute(fixture.db);
    await a.patch(fixture.city, rows[0]!.pk, { stop_request: 'close' });
    await fixture.until(rows[0]!.pk, 'closed');
    await eventually(async () => (await live()) === 3);
  });

  it('leave to the emptier one what it takes, and take it when that does not', async () => {
    const a = await fixture.runner('a');
    const first = await a.create(fixture.city);
    await fixture.until(first.pk, 'active');
    const b = await fixture.runner('b');
    const second = await a.create(fixture.city);
    expect((await fixture.until(second.pk, 'active')).runner_id).toBe(b.runner.runnerId);
    await sql`update runners set lease_until = now() + interval '1 hour' where id = ${b.runner.runnerId!}`.execute(fixture.db);
    b.kill();
    const third = await a.create(fixture.city);
    const fourth = await a.create(fixture.city);
    await a.runner.look();
    await sql`update sessions set wake_requested_at = now() - ${TEST_TIMINGS.overdueMs! / 1000}::float8 * interval '1 s' where not live`.execute(
      fixture.db,
    );
    for (const { pk } of [third, fourth]) expect((await fixture.until(pk, 'active')).runner_id).toBe(a.runner.runnerId);
  });
});

describe('cities that want more than a runner has room for', () => {
  const heldOf = async (): Promise<Record<string, number>> => {
    const { rows } = await sql<{ name: string; n: number }>`
      select c.name, count(*)::int as n from sessions s join cities c using (stream_id) where s.runner_id is not null group by 1 order by 1`.execute(
      fixture.db,
    );
    return Object.fromEntries(rows.map(({ name, n }) => [name, n]));
  };
  const want = (maker: RunnerProcess, city: CityScope, many: number): Promise<void> =>
    maker.sessions.runInAnyState(city, 'test', async (changes) => {
      for (let n = 0; n < many; n++) await changes.create(WANTED);
    });
  const beta = async (): Promise<CityScope> => {
    const city = await registerCity(fixture.db, 'beta', '/beta');
    await sql`insert into rigs (stream_id, name, prefix, position) values (${city.streamId}, '', 'be', 0)`.execute(fixture.db);
    return city;
  };

  it('get places in turn, however long the line of one of them is and however long it has waited', async () => {
    const maker = await fixture.runner('maker', { capacity: 0 });
    await want(maker, fixture.city, 30);
    await sql`update sessions set wake_requested_at = now() - interval '1 hour'`.execute(fixture.db);
    await want(maker, await beta(), 3);
    await fixture.runner('a', { capacity: 5 });
    await eventually(async () => (await live()) === 5);
    expect(await heldOf()).toEqual({ alpha: 3, beta: 2 });
  });

  it('are found in turn, around from the one that was served last', async () => {
    const maker = await fixture.runner('maker', { capacity: 0 });
    const gamma = await registerCity(fixture.db, 'gamma', '/gamma');
    await sql`insert into rigs (stream_id, name, prefix, position) values (${gamma.streamId}, '', 'ga', 0)`.execute(fixture.db);
    const cities = [fixture.city, gamma, await beta()];
    for (const city of cities) await want(maker, city, 2);
    const [first, second, third] = cities.map(({ streamId }) => streamId).sort((a, b) => a - b) as [number, number, number];
    const behind = async (after: number, limit: number): Promise<number[]> =>
      (await new ClaimsRepository().cities(fixture.db, after, limit)).map(({ streamId }) => streamId);
    expect(await behind(0, 9)).toEqual([first, second, third]);
    expect(await behind(second, 9)).toEqual([third, first, second]);
    expect(await behind(second, 2)).toEqual([third, first]);
    expect(await behind(third + 1, 9)).toEqual([first, second, third]);
  });

  it('leave a place to one that has none, however long they hold theirs', async () => {
    const a = await fixture.runner('a', { capacity: 10 });
    await want(a, fixture.city, 30);
    await eventually(async () => (await live()) >= 9);
    await a.runner.look();
    expect(await heldOf()).toEqual({ alpha: 9 });
    await want(a, await beta(), 3);
    await eventually(async () => (await live()) === 10);
    await a.runner.look();
    expect(await heldOf()).toEqual({ alpha: 9, beta: 1 });
  });

  it('wait for nobody who has locked another city', async () => {
    const maker = await fixture.runner('maker', { capacity: 0 });
    await want(maker, fixture.city, 1);
    await want(maker, await beta(), 2);
    await fixture.db.transaction().execute(async (tx) => {
      await sql`select from event_streams where id = ${fixture.city.streamId} for update`.execute(tx);
      await fixture.runner('a');
      await eventually(async () => (await live()) === 2);
      expect(await heldOf()).toEqual({ beta: 2 });
    });
    await eventually(async () => (await live()) === 3);
  });
});

describe('what keeps a session from being started', () => {
  const later = new Date(Date.now() + 3_600_000);
  it.each<[string, SessionPatch]>([
    ['a pause', { not_before: later }],
    ['a hold', { held_until: later }],
    ['a quarantine', { quarantined_until: later }],
    ['a wish to stop', { stop_request: 'sleep' }],
  ])('%s', async (_, set) => {
    const maker = await fixture.runner('maker', { capacity: 0 });
    const { pk } = await maker.create(fixture.city, { wake_request: undefined as never });
    await maker.patch(fixture.city, pk, { ...set, wake_request: 'explicit', wake_requested_at: new Date() });
    const a = await fixture.runner('a');
    // One that came later is taken in the same look.
    await fixture.until((await maker.create(fixture.city)).pk, 'active');
    await a.runner.look();
    expect(await fixture.row(pk)).toMatchObject({ generation: 0, runner_id: null });
    await maker.patch(fixture.city, pk, { not_before: null, held_until: null, quarantined_until: null, stop_request: null });
    await fixture.until(pk, 'active');
  });

  it('a city that does not run, is to stop, or is suspended', async () => {
    const a = await fixture.runner('a');
    await fixture.until((await a.create(fixture.city)).pk, 'active');
    await sql`update cities set suspended = true`.execute(fixture.db);
    const { pk } = await a.create(fixture.city);
    await a.runner.look();
    expect((await fixture.row(pk)).generation).toBe(0);
    await sql`update cities set suspended = null, running = false`.execute(fixture.db);
    await a.runner.look();
    expect((await fixture.row(pk)).generation).toBe(0);
    // One that is to stop still runs until its sessions are asleep.
    await sql`update cities set running = true, desired = 'stopped'`.execute(fixture.db);
    await a.runner.look();
    expect((await fixture.row(pk)).generation).toBe(0);
    await sql`update cities set desired = 'running'`.execute(fixture.db);
    await fixture.until(pk, 'active');
  });
});

it('a session whose claim was committed while the answer was lost is given back and started again', async () => {
  const a = await fixture.runner('a');
  const { pk } = await a.create(fixture.city, { wake_request: undefined as never });
  await sql`update sessions set state = 'creating', generation = 1, runner_id = ${a.runner.runnerId!} where pk = ${pk}`.execute(fixture.db);
  await sql`update session_logs set generation = 1 where session_pk = ${pk}`.execute(fixture.db);
  const row = await fixture.when(pk, ({ generation, live }) => generation === 2 && live);
  expect(row.state).toBe('active');
});

async function live(): Promise<number> {
  return (await sql<{ n: number }>`select count(*)::int as n from sessions where live`.execute(fixture.db)).rows[0]!.n;
}
