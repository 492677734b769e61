import { expect, it } from '@jest/globals';
import { Metrics } from '../../../platform/health/metrics.js';
import type { CommandEnd } from '../../sessions/launch/city-commands.js';
import { LeaseTimings } from '../../sessions/launch/leased-work.js';
import type { Unlaunched } from './formula-firings.js';
import { OrderRunner } from './order-runner.js';
import type { ClaimedFiring, Ended, FiringKind } from './order-rows.js';

interface Taken {
  /** What has come of its launch; undefined when it was launched. */
  readonly unlaunched?: Unlaunched;
  /** As how its commands end; they cannot begin just now unless said. */
  readonly how?: CommandEnd['how'];
  /** The database fails the first time that something is told. */
  readonly failing?: boolean;
}

/** What becomes of a firing that a worker takes, and that launches a formula unless it says something else. */
async function became(taken: Partial<ClaimedFiring>, { unlaunched, how = 'busy', failing = false }: Taken = {}): Promise<string[]> {
  const heard: string[] = [];
  const firing = { pk: 1, stream_id: 1, state: 'running', definition: { formula: 'grow' }, ...taken };
  const repository = {
    isWaiting: () => undefined,
    claim: async (_: unknown, kind: FiringKind) => (kind === 'launch' ? [firing] : []),
    grant: async () => true,
    stream: async () => 'alpha',
  };
  const nothing = async (): Promise<void> => undefined;
  let fails = failing;
  const told = async (what: string): Promise<void> => {
    if (!fails) return void heard.push(what);
    fails = false;
    throw new Error('the database is gone for a moment');
  };
  const runner = new OrderRunner(
    ...([
      { processId: 'worker' },
      repository,
      {
        callOff: async () => heard.push('called off'),
        giveBack: (_: unknown, __: unknown, ___: unknown, unbegun: boolean) => told(unbegun ? 'given back unbegun' : 'given back'),
        end: (_: unknown, __: unknown, ___: unknown, { outcome }: Ended) => told(`ended: ${outcome}`),
      },
      { run: async () => ({ code: null, how, output: '', error: 'too much' }) },
      {
        carryOut: async () => {
          heard.push('carried out');
          return unlaunched;
        },
      },
      { mintCommand: () => ({ token: '', hash: '' }) },
      { run: (work: (tx: object) => unknown) => work({}) },
      new LeaseTimings(),
      {},
      {},
      {},
      { hit: nothing },
      {
        warn: ({ error }: { error?: string }) => heard.push(`warned: ${error}`),
        debug: ({ error }: { error?: string }) => heard.push(`noted: ${error}`),
      },
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
    expect(await became({ definition, state, vars: {}, event: null, active: true })).toEqual(['warned: too much', 'given back unbegun']);
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

// Guard: what was fired is not used up by a moment in which its launch, or its check, could not be.
it('a firing is given back when its launch could not be just now, or its check was ended, also when the database fails meanwhile', async () => {
  const unlaunched = { passes: true, error: 'the city does not run' };
  expect(await became({}, { unlaunched, failing: true })).toEqual(['carried out', 'noted: the city does not run', 'given back unbegun']);
  expect(await became({}, { unlaunched: { ...unlaunched, passes: false } })).toEqual(['carried out', 'ended: failed']);
  const definition = { exec: 'true', check: 'true', env: {} } as ClaimedFiring['definition'];
  const checking = { definition, state: 'checking', vars: {}, event: null, active: true } as const;
  expect(await became(checking, { how: 'aborted', failing: true })).toEqual(['given back']);
});
