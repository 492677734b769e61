import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { ConfigReadsService } from '../../configuration/config/config-reads.service.js';
import { startOf } from '../../sessions/session-store/session-rest.js';
import { RunnerRealm } from './testing/runner-realm.js';

let realm: RunnerRealm;
beforeEach(async () => {
  realm = await RunnerRealm.open();
});
afterEach(() => realm.close());

const never = <T>(): Promise<T> => new Promise(() => undefined);

describe('a start whose preparation does not come to an end', () => {
  it('has its deadline, and is tried again', async () => {
    const runner = await realm.runner('r1', { timings: { planMs: 300 } });
    const plan = runner.plans.plan.bind(runner.plans);
    runner.plans.plan = never;
    const { pk } = await runner.create(realm.city);
    const late = await realm.when(pk, (row) => row.failed_starts === 1);
    expect(late).toMatchObject({ state: 'asleep', runner_id: null, wake_request: 'create', not_before: expect.any(Date) });
    runner.plans.plan = plan;
    runner.time({ planMs: 60_000 });
    await realm.unpause(pk);
    expect(await realm.until(pk, 'active')).toMatchObject({ generation: late.generation + 1 });
    expect((await realm.events('session.cold_start_timeout')).length).toBe(1);
  });

  it('has the time that its city gives a start', async () => {
    const runner = await realm.runner('r1');
    const none = { agents: [], rigs: [], named_sessions: [], workspace: {}, providers: {}, resolved_providers: {} };
    const config = { ...none, session: { startup_timeout: '7m' } };
    runner.get(ConfigReadsService).known = () => Promise.resolve({ config } as never);
    runner.plans.plan = never;
    const { pk } = await runner.create(realm.city);
    const { start_deadline: deadline, state_at: began } = await realm.until(pk, 'creating');
    expect((deadline!.getTime() - began.getTime()) / 60_000).toBeCloseTo(8, 0);
  });

  it('is told to whoever looks or waits while it goes on, and is forgotten once it is over', async () => {
    const runner = await realm.runner('r1');
    realm.host.silence = 'it has printed "name?" so far';
    const over = Promise.withResolvers<void>();
    realm.host.gate = () => over.promise;
    const { pk } = await runner.create(realm.city);
    const slow = await realm.when(pk, ({ failure }) => failure !== null);
    expect([slow.state, startOf({ ...slow, active_bead: null })]).toEqual([
      'creating',
      { until: slow.start_deadline!.toISOString(), detail: realm.host.silence },
    ]);
    const [told, ...more] = await realm.events('session.start_slow');
    expect([told!.message, told!.payload.until, more]).toEqual([realm.host.silence, slow.start_deadline!.toISOString(), []]);
    over.resolve();
    const ready = await realm.until(pk, 'active');
    expect([ready.failure, startOf({ ...ready, active_bead: null })]).toEqual([null, undefined]);
  });

  it.each([
    ['close', 'closed'],
    ['kill', 'asleep'],
  ] as const)('accepts %s', async (stop_request, state) => {
    const runner = await realm.runner('r1');
    runner.plans.plan = never;
    const { pk } = await runner.create(realm.city);
    await realm.until(pk, 'creating');
    await runner.patch(realm.city, pk, { stop_request });
    expect(await realm.until(pk, state)).toMatchObject({ runner_id: null });
  });
});
