import { expect, it } from '@jest/globals';
import { LeaseTimings } from '../../sessions/launch/leased-work.js';
import { OrderRunner } from './order-runner.js';
import type { ClaimedFiring, FiringKind } from './order-rows.js';

/** What becomes of a firing of a formula that a worker takes. */
async function became(taken: Pick<ClaimedFiring, 'active' | 'cause'>): Promise<string[]> {
  const heard: string[] = [];
  const firing = { pk: 1, stream_id: 1, state: 'running', definition: { formula: 'grow' }, ...taken };
  const repository = {
    isWaiting: () => undefined,
    claim: async (_: unknown, kind: FiringKind) => (kind === 'launch' ? [firing] : []),
    stream: async () => 'alpha',
  };
  const nothing = async (): Promise<void> => undefined;
  const runner = new OrderRunner(
    ...([
      { processId: 'worker' },
      repository,
      { callOff: async () => heard.push('called off') },
      {},
      { carryOut: async () => heard.push('carried out') },
      {},
      { run: (work: (tx: object) => unknown) => work({}) },
      new LeaseTimings(),
      {},
      {},
      {},
      { hit: nothing },
      { warn: (said: unknown) => heard.push(String(said)) },
      { gauge: () => undefined },
    ] as unknown as ConstructorParameters<typeof OrderRunner>),
  );
  await runner.take();
  await runner.idle();
  return heard;
}

// Guard: who has disabled an order has it fired no more.
it('a firing begins no more when its order is off, unless somebody has it run', async () => {
  expect(await became({ active: true, cause: 'cron' })).toEqual(['carried out']);
  expect(await became({ active: false, cause: 'cron' })).toEqual(['called off']);
  expect(await became({ active: null, cause: 'webhook' })).toEqual(['carried out']);
  expect(await became({ active: false, cause: 'run' })).toEqual(['carried out']);
});
