import { expect, it } from '@jest/globals';
import type { Published } from './service-leases.repository.js';
import { ServiceRunner } from './service-runner.js';
import { ServiceTimings } from './service-timings.js';

// Guard: what a worker has taken and has no user for is kept from those that have one.
it('a service that its host has no user for goes to another one', async () => {
  const stops: (() => unknown)[] = [];
  const reasons: unknown[] = [];
  const released = Promise.withResolvers<void>();
  const row = { pk: 1, name: 'board', city: 'alpha', wanted: true, generation: 1, failures: 0, before: null };
  const waits = [row];
  const repository = {
    claim: async () => waits.shift(),
    own: async () => row,
    begin: async () => 1,
    publish: async (_tx: unknown, _row: unknown, _worker: string, { condition }: Published) => reasons.push(condition.reason) > 0 && false,
    release: async () => released.resolve(),
    orders: async () => [],
  };
  let begun = 0;
  const begin = async (): Promise<unknown> => {
    if (++begun === 1) return { how: 'host_busy', detail: 'too much at once' };
    released.reject(new Error('it is begun anew here'));
    return new Promise(() => undefined);
  };
  const runner = new ServiceRunner(
    ...([
      { processId: 'worker', runnerCapacity: 1 },
      repository,
      { run: begin },
      { run: (work: (tx: object) => unknown) => work({}) },
      {},
      new ServiceTimings(),
      { onTopics: () => () => undefined, mark: () => undefined },
      { watch: (_ms: number, _due: unknown, ring: () => void) => ring() },
      { onStop: (_phase: string, _name: string, stop: () => unknown) => stops.push(stop) },
      { warn: (said: unknown) => reasons.push(said), debug: () => undefined },
    ] as unknown as ConstructorParameters<typeof ServiceRunner>),
  );
  runner.onApplicationBootstrap();
  await released.promise;
  await Promise.all(stops.map((stop) => stop()));
  expect(reasons).toEqual(['host_busy']);
});
