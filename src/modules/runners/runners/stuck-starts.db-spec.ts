import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { sql } from 'kysely';
import { registerCity } from '../../../../test/support/registry.js';
import { eventually } from '../../../../test/support/sse.js';
import { ConfigReadsService } from '../../configuration/config/config-reads.service.js';
import { startOf } from '../../sessions/session-store/session-rest.js';
import type { CityScope } from '../../tenancy/cities/city-scope.js';
import type { SessionActor } from './session-actor.js';
import { RunnerFixture } from './testing/runner-fixture.js';
import type { RunnerProcess } from './testing/runner-process.js';

let fixture: RunnerFixture;
beforeEach(async () => {
  fixture = await RunnerFixture.open();
});
afterEach(() => fixture.close());

const never = <T>(): Promise<T> => new Promise(() => undefined);

describe('a start whose preparation does not come to an end', () => {
  it('has its deadline, and is tried again', async () => {
    const runner = await fixture.runner('r1', { timings: { planMs: 300 } });
    const plan = runner.plans.plan.bind(runner.plans);
    runner.plans.plan = never;
    const { pk } = await runner.create(fixture.city);
    const late = await fixture.when(pk, (row) => row.failed_starts === 1);
    expect(late).toMatchObject({ state: 'asleep', runner_id: null, wake_request: 'create', not_before: expect.any(Date) });
    runner.plans.plan = plan;
    runner.time({ planMs: 60_000 });
    await fixture.unpause(pk);
    expect(await fixture.until(pk, 'active')).toMatchObject({ generation: late.generation + 1 });
    expect((await fixture.events('session.cold_start_timeout')).length).toBe(1);
  });

  it('has the time that its city gives a start', async () => {
    const runner = await fixture.runner('r1');
    const none = { agents: [], rigs: [], named_sessions: [], workspace: {}, providers: {}, resolved_providers: {} };
    const config = { ...none, session: { startup_timeout: '7m' } };
    runner.get(ConfigReadsService).known = () => Promise.resolve({ config } as never);
    runner.plans.plan = never;
    const { pk } = await runner.create(fixture.city);
    const { start_deadline: deadline, state_at: began } = await fixture.until(pk, 'creating');
    expect((deadline!.getTime() - began.getTime()) / 60_000).toBeCloseTo(8, 0);
  });

  it('is told to whoever looks or waits while it goes on, and is forgotten once it is over', async () => {
    const runner = await fixture.runner('r1');
    fixture.host.silence = 'it has printed "name?" so far';
    const over = Promise.withResolvers<void>();
    fixture.host.gate = () => over.promise;
    const { pk } = await runner.create(fixture.city);
    const slow = await fixture.when(pk, ({ failure }) => failure !== null);
    expect([slow.state, startOf({ ...slow, active_bead: null })]).toEqual([
      'creating',
      { until: slow.start_deadline!.toISOString(), detail: fixture.host.silence },
    ]);
    const [told, ...more] = await fixture.events('session.start_slow');
    expect([told!.message, told!.payload.until, more]).toEqual([fixture.host.silence, slow.start_deadline!.toISOString(), []]);
    over.resolve();
    const ready = await fixture.until(pk, 'active');
    expect([ready.failure, startOf({ ...ready, active_bead: null })]).toEqual([null, undefined]);
  });

  it.each([
    ['close', 'closed'],
    ['kill', 'asleep'],
  ] as const)('accepts %s', async (stop_request, state) => {
    const runner = await fixture.runner('r1');
    runner.plans.plan = never;
    const { pk } = await runner.create(fixture.city);
    await fixture.until(pk, 'creating');
    await runner.patch(fixture.city, pk, { stop_request });
    expect(await fixture.until(pk, state)).toMatchObject({ runner_id: null });
  });
});

describe('starts that take as long as their city likes', () => {
  let other: CityScope;
  beforeEach(async () => {
    other = await registerCity(fixture.db, 'beta', '/beta');
    await sql`insert into rigs (stream_id, name, prefix, position) values (${other.streamId}, '', 'be', 0)`.execute(fixture.db);
    fixture.host.gate = ({ env }) => (env.SVC_CITY === fixture.city.name ? never() : undefined);
  });

  const starting = (runner: RunnerProcess): number => [...runner.runner.sessions.values()].filter((session) => session.starting).length;

  // Guard: they would have all places of their worker.
  it('leave places to those of other cities', async () => {
    const runner = await fixture.runner('r1', { timings: { startsAtOnce: 4, slowStartMs: 1e9 } });
    for (let n = 0; n < 5; n++) await runner.create(fixture.city);
    await eventually(() => starting(runner) >= 3);
    await runner.runner.look();
    expect(starting(runner)).toBe(3);
    await fixture.until((await runner.create(other)).pk, 'active');
  });

  it('leave places to those of other cities also where they are slow', async () => {
    fixture.host.gate = never;
    const runner = await fixture.runner('r1', { timings: { startsAtOnce: 4, slowStartMs: 0 } });
    for (let n = 0; n < 5; n++) await runner.create(fixture.city);
    await runner.create(other);
    const of = (city: CityScope) =>
      [...runner.runner.sessions.values()].filter((actor) => (actor as SessionActor).streamId === city.streamId);
    await eventually(() => of(fixture.city).length >= 3 && of(other).length === 1);
    for (let n = 0; n < 4; n++) await runner.runner.look();
    expect([of(fixture.city).length, of(other).length]).toEqual([3, 1]);
  });

  // Guard: what a city wants that may have no more would be all that is looked at.
  it('hide no city that comes long after theirs', async () => {
    fixture.host.gate = ({ env }) => (env.SVC_CITY === other.name ? never() : undefined);
    const runner = await fixture.runner('r1', { timings: { startsAtOnce: 4, slowStartMs: 1e9 } });
    const register = async (name: string): Promise<CityScope> => {
      const city = await registerCity(fixture.db, name, `/${name}`);
      await sql`insert into rigs (stream_id, name, prefix, position) values (${city.streamId}, '', ${name}, 0)`.execute(fixture.db);
      return city;
    };
    const page: CityScope[] = [];
    for (let n = 0; n < 49; n++) page.push(await register(`c${n}`));
    await sql`update cities set suspended = true where name like 'c%'`.execute(fixture.db);
    for (const city of page) await runner.create(city);
    for (let n = 0; n < 5; n++) await runner.create(other);
    await eventually(() => starting(runner) === 3);
    // The one that was served last stands before them.
    await fixture.until((await runner.create(fixture.city)).pk, 'active');
    const { pk } = await runner.create(await register('last'));
    for (let n = 0; n < 4; n++) await runner.runner.look();
    expect(runner.runner.sessions.has(pk)).toBe(true);
  });

  // Guard: enough cities have all places, and one start where there are few.
  it('keep those of other cities waiting no longer than they may be at work', async () => {
    const runner = await fixture.runner('r1', { timings: { startsAtOnce: 1, slowStartMs: 0 } });
    await runner.create(fixture.city);
    await eventually(() => starting(runner) === 1);
    const { pk } = await runner.create(other);
    await runner.runner.look();
    expect(runner.runner.sessions.has(pk)).toBe(true);
    await fixture.until(pk, 'active');
    expect(starting(runner)).toBe(1);
  });
});
