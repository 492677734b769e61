import { afterEach, beforeEach, expect, it } from '@jest/globals';
import { eventually } from '../../../../test/support/sse.js';
import type { AppConfig } from '../../../platform/config/config.js';
import type { DuePoller } from '../../../platform/database/due-poller.js';
import { MovedStreams } from '../../../platform/event-log/moved.js';
import { Lifecycle } from '../../../platform/health/lifecycle.js';
import { AppLogger, createLogger } from '../../../platform/logging/logger.js';
import type { HintListener } from '../../../platform/streams/listener.js';
import { Signals } from '../../../platform/streams/signals.js';
import type { ClaimsOfSessions } from '../../sessions/session-store/claims-of-sessions.service.js';
import type { PoolPass } from './pool-pass.service.js';
import type { PoolStateRepository } from './pool-state.repository.js';
import { PoolsReconciler } from './pools.reconciler.js';
import type { ScaleChecks } from './scale-checks.js';
import type { WaitDelivery } from './wait-delivery.js';

const log = new AppLogger(createLogger('silent'));
let lifecycle: Lifecycle;
beforeEach(() => void (lifecycle = new Lifecycle(log)));
afterEach(() => lifecycle.stop());

/** A reconciler that has begun, over a repository of the test. */
function begun(repository: Partial<PoolStateRepository>): {
  moved: MovedStreams;
  tell: Parameters<ScaleChecks['onNews']>[0];
  pools: PoolsReconciler;
} {
  const moved = new MovedStreams();
  const signals = new Signals(moved, { listen: () => () => undefined } as unknown as HintListener, lifecycle);
  signals.onModuleInit();
  const claims = { renew: () => Promise.resolve() } as unknown as ClaimsOfSessions;
  const looks = { watch: () => undefined } as unknown as DuePoller;
  let tell: Parameters<ScaleChecks['onNews']>[0] = () => undefined;
  const scales = { onNews: (told: typeof tell) => (tell = told) } as unknown as ScaleChecks;
  const pools = new PoolsReconciler(
    repository as PoolStateRepository,
    {} as PoolPass,
    {} as WaitDelivery,
    scales,
    claims,
    signals,
    looks,
    {} as AppConfig,
    log,
    lifecycle,
  );
  pools.onApplicationBootstrap();
  return { moved, tell, pools };
}

it('looks at a city that moves at once, and asks about all of them once a second however many move', async () => {
  const named: string[] = [];
  let polls = 0;
  const began = performance.now();
  const due = (_limit: number, streams?: readonly string[]): Promise<never[]> => {
    if (streams === undefined) polls++;
    else named.push(...streams);
    return Promise.resolve([]);
  };
  const { moved } = begun({ due } as unknown as PoolStateRepository);
  for (let n = 1; n <= 12; n++) {
    moved.mark([{ stream: `city-${n}`, head: n }]);
    await eventually(async () => Promise.resolve(named.includes(`city-${n}`)));
  }
  const seconds = (performance.now() - began) / 1_000;
  expect(polls).toBeGreaterThan(0);
  expect(polls).toBeLessThanOrEqual(1 + Math.floor(seconds));
});

// Guard: the log of the city knows nothing of it, so that nobody would find the city due.
it('looks at a city again of which a command says something new', async () => {
  const said: unknown[] = [];
  const { tell } = begun({
    lookAgain: (...asked: unknown[]) => Promise.resolve(void said.push(asked)),
    due: (_limit: number, streams?: unknown) => {
      if (Array.isArray(streams)) said.push(streams);
      return Promise.resolve([]);
    },
  } as unknown as PoolStateRepository);
  tell({ name: 'port', streamId: 7 });
  await eventually(() => Promise.resolve(said.length === 2));
  expect(said).toEqual([[7, 0], ['port']]);
});

// Guard: the look was noted before it failed, so that nobody would find the city due.
it.each(['running', 'stopped'] as const)('has a city that is %s looked at again where a look fails', async (is) => {
  const said: unknown[] = [];
  const { pools } = begun({
    lookAgain: (...asked: unknown[]) => Promise.resolve(void said.push(asked)),
    due: () => Promise.resolve([]),
  } as unknown as PoolStateRepository);
  await pools.look({ id: 1, name: 'port', path: '/port', stream: 'port', streamId: 7, is, head: 3 });
  // No time brings another look at a city that is stopped: its head does.
  expect(said).toEqual(is === 'running' ? [[7, 1_000]] : []);
});
