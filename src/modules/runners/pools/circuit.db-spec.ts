import { afterEach, expect, it } from '@jest/globals';
import { agentConfig, poolRealm, type PoolRealm } from './testing/pool-realm.js';

let realm: PoolRealm;
afterEach(() => realm.stop());

it('a named session that always runs stays down while its circuit is open, and runs again once its time is over', async () => {
  realm = await poolRealm();
  realm.config.agents = [agentConfig('worker')];
  realm.config.named_sessions.push({ name: 'boss', qualified_name: 'boss', template: 'worker', dir: '', mode: 'always' } as never);
  (realm.config as { daemon?: object }).daemon = { session_circuit_breaker: true };
  await realm.pass();
  const [boss] = await realm.open();
  const open = { state: 'quarantined', reason: 'circuit-open', wake_request: null, generation: 3 };
  const until = (ms: number): Record<string, Date> => ({
    circuit_until: new Date(Date.now() + ms),
    quarantined_until: new Date(Date.now() + ms),
  });
  await realm.set(boss!.pk, { ...open, ...until(600_000), restarts: '{now,now}' });
  expect(await realm.settle()).toEqual([]);
  await realm.set(boss!.pk, until(-60_000));
  expect(await realm.pass()).toEqual([{ do: 'unquarantine', pk: boss!.pk }]);
  expect(await realm.row(boss!.pk)).toMatchObject({ state: 'asleep', reason: null, restarts: [], circuit_until: null });
  // Also at once, where the city wants no breaker any more.
  await realm.set(boss!.pk, { ...open, ...until(600_000) });
  (realm.config as { daemon?: object }).daemon = {};
  expect(await realm.pass()).toEqual([{ do: 'unquarantine', pk: boss!.pk }]);
});
