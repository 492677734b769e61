import { describe, expect, it } from '@jest/globals';
import { Lifecycle } from '../health/lifecycle.js';
import { AppLogger, createLogger } from '../logging/logger.js';
import { HeadWaiter } from './head-waiter.js';
import type { StreamHub } from './hub.js';

function aWaiter(head: number) {
  const state = { head };
  const lifecycle = new Lifecycle(new AppLogger(createLogger('silent', {})));
  const hub = { stream: (name: string) => (name === 'alpha' ? state : undefined) } as unknown as StreamHub;
  return { state, lifecycle, waiter: new HeadWaiter(hub, lifecycle) };
}
const took = async (work: Promise<void>): Promise<number> => {
  const started = performance.now();
  await work;
  return performance.now() - started;
};

describe('waiting for a head', () => {
  it('ends at once when the head is there already', async () => {
    expect(await took(aWaiter(5).waiter.above('alpha', 4, 5_000))).toBeLessThan(50);
  });

  it('ends when the head moves above the position, not when it reaches it', async () => {
    const { waiter, state } = aWaiter(3);
    const waiting = took(waiter.above('alpha', 4, 5_000));
    state.head = 4;
    setTimeout(() => (state.head = 5), 120);
    const ms = await waiting;
    expect(ms).toBeGreaterThan(100);
    expect(ms).toBeLessThan(1_000);
  });

  it('ends when the time is over, also for a stream nobody knows', async () => {
    const ms = await took(aWaiter(3).waiter.above('beta', 0, 60));
    expect(ms).toBeGreaterThanOrEqual(50);
  });

  it('ends when the client goes away and when the process stops', async () => {
    const { waiter, lifecycle } = aWaiter(0);
    const gone = new AbortController();
    const first = took(waiter.above('alpha', 0, 5_000, gone.signal));
    gone.abort();
    expect(await first).toBeLessThan(500);
    const second = took(waiter.above('alpha', 0, 5_000));
    await lifecycle.stop();
    expect(await second).toBeLessThan(500);
    expect(await took(waiter.above('alpha', 0, 5_000))).toBeLessThan(50);
  });
});
