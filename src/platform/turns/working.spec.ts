import { describe, expect, it } from '@jest/globals';
import { setTimeout as sleep } from 'node:timers/promises';
import { Working } from './working.js';

const PLACE = { leave: () => undefined, again: () => Promise.resolve(), wanted: 0 };

describe('a request that rests', () => {
  const resting = (): Working => new Working({ owner: 'city one', limited: true, lane: '' }, PLACE);

  it('adds up for how long, once for what it waits for at the same time', async () => {
    const working = resting();
    expect(working.restedMs).toBe(0);
    const began = performance.now();
    await Promise.all([working.rest(() => sleep(20)), working.rest(() => sleep(30))]);
    const rested = working.restedMs;
    const took = performance.now() - began;
    expect(rested).toBeGreaterThan(25);
    expect(rested).toBeLessThanOrEqual(took);
    await sleep(5);
    expect(working.restedMs).toBe(rested);
    await working.rest(() => sleep(20));
    expect(working.restedMs).toBeGreaterThan(rested + 15);
  });

  // Guard: a client that leaves is told of before its request has heard of it.
  it('has rested up to now while it still does', async () => {
    const working = resting();
    let end!: () => void;
    const rest = working.rest(() => new Promise<void>((resolve) => (end = resolve)));
    await sleep(20);
    expect(working.restedMs).toBeGreaterThan(15);
    end();
    await rest;
  });
});
