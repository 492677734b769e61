import { afterEach, expect, it } from '@jest/globals';
import { eventually } from '../../../../test/support/sse.js';
import type { AppConfig } from '../../../platform/config/config.js';
import type { DueLooks } from '../../../platform/database/due-looks.js';
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
const lifecycle = new Lifecycle(log);
afterEach(() => lifecycle.stop());

it('looks at a city that moves at once, and asks about all of them once a second however many move', async () => {
  const named: string[] = [];
  let polls = 0;
  const began = performance.now();
  const due = (_limit: number, streams?: readonly string[]): Promise<never[]> => {
    if (streams === undefined) polls++;
    else named.push(...streams);
    return Promise.resolve([]);
  };
  const moved = new MovedStreams();
  const signals = new Signals(moved, { listen: () => () => undefined } as unknown as HintListener, lifecycle);
  signals.onModuleInit();
  const claims = { renew: () => Promise.resolve() } as unknown as ClaimsOfSessions;
  const looks = { watch: () => undefined } as unknown as DueLooks;
  const repository = { due } as unknown as PoolStateRepository;
  new PoolsReconciler(
    repository,
    {} as PoolPass,
    {} as WaitDelivery,
    { onNews: () => undefined } as unknown as ScaleChecks,
    claims,
    signals,
    looks,
    {} as AppConfig,
    log,
    lifecycle,
  ).onApplicationBootstrap();
  for (let n = 1; n <= 12; n++) {
    moved.mark([{ stream: `city-${n}`, head: n }]);
    await eventually(async () => Promise.resolve(named.includes(`city-${n}`)));
  }
  const seconds = (performance.now() - began) / 1_000;
  expect(polls).toBeGreaterThan(0);
  expect(polls).toBeLessThanOrEqual(1 + Math.floor(seconds));
});
