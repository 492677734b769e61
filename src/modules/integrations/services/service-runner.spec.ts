import { expect, it } from '@jest/globals';
import type { Published } from './service-leases.repository.js';
import { ServiceRunner } from './service-runner.js';
import { ServiceTimings } from './service-timings.js';

const ROW = { pk: 1, name: 'board', city: 'alpha', wanted: true, generation: 1, failures: 0, before: null };

interface World {
  /** The row, each time that it is read; the last one again and again. */
  readonly rows: (typeof ROW)[];
  readonly run: () => Promise<unknown>;
  /** What is answered when a condition is published: undefined where something else was wanted meanwhile. */
  readonly publish?: (row: typeof ROW) => boolean | undefined;
}

/** A worker that has taken a service. */
function worker({ rows, run, publish = () => false }: World): {
  reasons: unknown[];
  released: Promise<void>;
  stop: () => Promise<unknown>;
} {
  const stops: (() => unknown)[] = [];
  const reasons: unknown[] = [];
  const released = Promise.withResolvers<void>();
  const waits = [ROW];
  const repository = {
    claim: async () => waits.shift(),
    own: async () => (rows.length > 1 ? rows.shift() : rows[0]),
    begin: async () => 1,
    publish: async (_tx: unknown, row: typeof ROW, _worker: string, { condition }: Published) => {
      reasons.push(condition.reason);
      return publish(row);
    },
    release: async () => released.resolve(),
    orders: async () => [],
  };
  const runner = new ServiceRunner(
    ...([
      { processId: 'worker', runnerCapacity: 1 },
      repository,
      { run },
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
  return { reasons, released: released.promise, stop: () => Promise.all(stops.map((stop) => stop())) };
}

const never = (): Promise<never> => new Promise(() => undefined);

// Guard: what a worker has taken and has no user for is kept from those that have one.
it('a service that its host has no user for goes to another one', async () => {
  const again = Promise.withResolvers<never>();
  let begun = 0;
  const run = async (): Promise<unknown> => {
    if (++begun === 1) return { how: 'host_busy', detail: 'too much at once' };
    again.reject(new Error('it is begun anew here'));
    return never();
  };
  const { reasons, released, stop } = worker({ rows: [ROW], run });
  await Promise.race([released, again.promise]);
  await stop();
  expect(reasons).toEqual(['host_busy']);
});

it('a service that is wanted again while it is put away runs here', async () => {
  const begun = Promise.withResolvers<void>();
  const run = ({ attention }: { attention: { signal: AbortSignal } }): Promise<unknown> => {
    begun.resolve();
    return new Promise((resolve) => attention.signal.addEventListener('abort', () => resolve({ how: 'asked' })));
  };
  const [before, after] = [
    { ...ROW, wanted: false },
    { ...ROW, generation: 2 },
  ];
  const refused = Promise.withResolvers<void>();
  const publish = ({ generation }: typeof ROW): boolean | undefined => {
    if (generation === 2) return false;
    refused.resolve();
    return undefined;
  };
  const { reasons, released, stop } = worker({ rows: [before, after], run: run as World['run'], publish });
  await refused.promise;
  // Nothing that it does then waits for a time.
  const turns = async (): Promise<string> => {
    for (let n = 0; n < 50; n++) await new Promise((resolve) => setImmediate(resolve));
    return 'it is left idle';
  };
  expect(await Promise.race([begun.promise, turns()])).toBeUndefined();
  await stop();
  await released;
  expect(reasons).toEqual(['service_closed', 'owner_stopped']);
});

it('a service of a worker that stops is let go, whatever is wanted of it meanwhile', async () => {
  const begun = Promise.withResolvers<void>();
  const run = ({ attention }: { attention: { signal: AbortSignal } }): Promise<unknown> => {
    begun.resolve();
    return new Promise((resolve) => attention.signal.addEventListener('abort', () => resolve({ how: 'asked' })));
  };
  const { released, stop } = worker({ rows: [ROW], run: run as World['run'], publish: () => undefined });
  await begun.promise;
  await stop();
  await released;
});
