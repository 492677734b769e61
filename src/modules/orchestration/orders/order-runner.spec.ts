import { expect, it } from '@jest/globals';
import { Metrics } from '../../../platform/health/metrics.js';
import { LeaseTimings } from '../../sessions/launch/leased-work.js';
import { OrderRunner } from './order-runner.js';
import type { ClaimedFiring, FiringKind } from './order-rows.js';

/** What becomes of a firing that a worker takes, and that launches a formula unless it says something else. No command can begin just now. */
async function became(taken: Partial<ClaimedFiring>): Promise<string[]> {
  const heard: string[] = [];
  const firing = { pk: 1, stream_id: 1, state: 'running', definition: { formula: 'grow' }, ...taken };
  const repository = {
    isWaiting: () => undefined,
    claim: async (_: unknown, kind: FiringKind) => (kind === 'launch' ? [firing] : []),
    grant: async () => true,
    stream: async () => 'alpha',
  };
  const nothing = async (): Promise<void> => undefined;
  const runner = new OrderRunner(
    ...([
      { processId: 'worker' },
      repository,
      {
        callOff: async () => heard.push('called off'),
        giveBack: async () => heard.push('given back'),
        end: async () => heard.push('ended'),
      },
      { run: async () => ({ code: null, how: 'busy', output: '', error: 'too much' }) },
      { carryOut: async () => heard.push('carried out') },
      { mintCommand: () => ({ token: '', hash: '' }) },
      { run: (work: (tx: object) => unknown) => work({}) },
      new LeaseTimings(),
      {},
      {},
      {},
      { hit: nothing },
      { warn: ({ error }: { error?: string }) => heard.push(`warned: ${error}`) },
      { gauge: () => undefined },
    ] as unknown as ConstructorParameters<typeof OrderRunner>),
  );
  await runner.take();
  // Nobody waits for a pause.
  await runner.stop();
  return heard;
}

// Guard: who has disabled an order has it fired no more.
it('a firing begins no more when its order is off, unless somebody has it run', async () => {
  expect(await became({ active: true, cause: 'cron' })).toEqual(['carried out']);
  expect(await became({ active: false, cause: 'cron' })).toEqual(['called off']);
  expect(await became({ active: null, cause: 'webhook' })).toEqual(['carried out']);
  expect(await became({ active: false, cause: 'run' })).toEqual(['carried out']);
});

// Guard: what passes ends no firing, and no condition.
it('a firing whose command could not begin just now is given back', async () => {
  const definition = { exec: 'true', check: 'true', env: {} } as ClaimedFiring['definition'];
  for (const state of ['running', 'checking'] as const)
    expect(await became({ definition, state, vars: {}, event: null, active: true })).toEqual(['warned: too much', 'given back']);
});

// Guard: a database that hangs took the time of a scrape.
it('says how many firings wait, and nothing while nobody answers', async () => {
  const metrics = new Metrics();
  let waiting: () => Promise<unknown> = async () => ({ command: 2, launch: 0 });
  const repository = { isWaiting: () => undefined, waiting: () => waiting() };
  const others = Array.from({ length: 11 }, (_, n) => (n === 5 ? new LeaseTimings() : {}));
  new OrderRunner(...([{}, repository, ...others, metrics] as unknown as ConstructorParameters<typeof OrderRunner>));
  const said = async (): Promise<string[]> =>
    (await metrics.text()).split('\n').filter((line) => line.startsWith('svc_order_firings_waiting'));
  expect(await said()).toEqual(['svc_order_firings_waiting{kind="command"} 2', 'svc_order_firings_waiting{kind="launch"} 0']);
  metrics.knownMs = 1;
  waiting = () => new Promise(() => undefined);
  expect(await said()).toEqual([]);
}, 10_000);
