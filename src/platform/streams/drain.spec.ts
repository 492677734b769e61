import { describe, expect, it } from '@jest/globals';
import { Drain } from './drain.js';

describe('Drain', () => {
  it('reads what comes at any moment, also while it ends', async () => {
    let left = 0;
    const drain = new Drain(
      () => left > 0,
      async () => {
        await Promise.resolve();
        left = 0;
      },
      () => undefined,
      new AbortController().signal,
    );
    for (let ticks = 0; ticks < 30; ticks++) {
      left++;
      void drain.run();
      for (let tick = 0; tick < ticks; tick++) await Promise.resolve();
      left++;
      await drain.run();
      expect([ticks, left]).toEqual([ticks, 0]);
    }
  });

  it('has one round at a time, which whoever asks meanwhile waits for', async () => {
    let [rounds, atOnce, left] = [0, 0, 3];
    const drain = new Drain(
      () => left > 0,
      async () => {
        expect(++atOnce).toBe(1);
        await new Promise((resolve) => setImmediate(resolve));
        [rounds, atOnce, left] = [rounds + 1, atOnce - 1, left - 1];
      },
      () => undefined,
      new AbortController().signal,
    );
    await Promise.all([drain.run(), drain.run(), drain.settled()]);
    expect([rounds, left]).toEqual([3, 0]);
    await drain.run();
    expect(rounds).toBe(3);
  });

  it('tries again what has failed, until the stop', async () => {
    const stop = new AbortController();
    let failures = 0;
    const drain = new Drain(
      () => true,
      () => Promise.reject(new Error('no')),
      () => void (++failures % 3 === 0 && stop.abort()),
      stop.signal,
    );
    await drain.run();
    expect(failures).toBe(3);
    await drain.run();
    expect(failures).toBe(3);
  });
});
