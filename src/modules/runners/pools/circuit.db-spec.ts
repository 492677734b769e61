import { afterEach, expect, it } from '@jest/globals';
import { agentConfig, poolFixture, type PoolFixture } from './testing/pool-fixture.js';

let fixture: PoolFixture;
afterEach(() => fixture.stop());

it('a named session that always runs stays down while its circuit is open, and runs again once its time is over', async () => {
  fixture = await poolFixture();
  fixture.config.agents = [agentConfig('worker')];
  fixture.config.named_sessions.push({ name: 'boss', qualified_name: 'boss', template: 'worker', dir: '', mode: 'always' } as never);
  (fixture.config as { daemon?: object }).daemon = { session_circuit_breaker: true };
  await fixture.pass();
  const [boss] = await fixture.open();
  const open = { state: 'quarantined', reason: 'circuit-open', wake_request: null, generation: 3 };
  const until = (ms: number): Record<string, Date> => ({
    circuit_until: new Date(Date.now() + ms),
    quarantined_until: new Date(Date.now() + ms),
  });
  await fixture.set(boss!.pk, { ...open, ...until(600_000), restarts: '{now,now}' });
  expect(await fixture.settle()).toEqual([]);
  await fixture.set(boss!.pk, until(-60_000));
  expect(await fixture.pass()).toEqual([{ do: 'unquarantine', pk: boss!.pk }]);
  expect(await fixture.row(boss!.pk)).toMatchObject({ state: 'asleep', reason: null, restarts: [], circuit_until: null });
  // Also at once, where the city wants no breaker any more.
  await fixture.set(boss!.pk, { ...open, ...until(600_000) });
  (fixture.config as { daemon?: object }).daemon = {};
  expect(await fixture.pass()).toEqual([{ do: 'unquarantine', pk: boss!.pk }]);
});
