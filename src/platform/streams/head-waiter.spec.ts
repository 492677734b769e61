import { describe, expect, it } from '@jest/globals';
import { Lifecycle } from '../health/lifecycle.js';
import { AppLogger, createLogger } from '../logging/logger.js';
import { sleep } from '../time/clock.js';
import { HeadWaiter } from './head-waiter.js';
import type { StreamHub } from './hub.js';
import type { KeyWatch } from './key-watch.js';

const NO_KEYS = { add: () => () => undefined } as unknown as KeyWatch;

function aWaiter(head: number) {
  const state = { head };
  const lifecycle = new Lifecycle(new AppLogger(createLogger('silent', {})));
  const hub = { stream: (name: string) => (name === 'alpha' ? state : undefined) } as unknown as StreamHub;
  return { state, lifecycle, waiter: new HeadWaiter(hub, NO_KEYS, lifecycle) };
}
/** Longer than any test may take: whoever waits this long was not woken. */
const NEVER = 600_000;

describe('waiting for a head', () => {
  it('ends at once when the head is there already', async () => {
    await aWaiter(5).waiter.above('alpha', 4, NEVER);
  });

  it('ends when the head moves above the position, not when it reaches it', async () => {
    const { waiter, state } = aWaiter(3);
    let ended = false;
    const waiting = waiter.above('alpha', 4, NEVER).then(() => (ended = true));
    state.head = 4;
    await sleep(120);
    expect(ended).toBe(false);
    state.head = 5;
    await waiting;
  });

  it('ends when the time is over, also for a stream nobody knows', async () => {
    await aWaiter(3).waiter.above('beta', 0, 60);
  });

  it('ends when the client goes away and when the process stops', async () => {
    const { waiter, lifecycle } = aWaiter(0);
    const gone = new AbortController();
    const first = waiter.above('alpha', 0, NEVER, gone.signal);
    gone.abort();
    await first;
    const second = waiter.above('alpha', 0, NEVER);
    await lifecycle.stop();
    await second;
    await waiter.above('alpha', 0, NEVER);
  });
});
