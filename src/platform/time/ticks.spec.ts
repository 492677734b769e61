import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { inStep, onTicks } from './ticks.js';

describe('inStep', () => {
  // Guard: who looks each second looks no later for doing so in step with others.
  it('rests up to a tick less, and ends with a tick', () => {
    const began = performance.now();
    const places = new Set<number>();
    for (let n = 0; n < 1_000; n++) {
      const now = began + n * 0.97;
      for (const ms of [500, 1_000, 2_000, 5_000]) {
        const rest = inStep(ms, now);
        expect(rest).toBeGreaterThan(ms - 250);
        expect(rest).toBeLessThanOrEqual(ms + 11);
        places.add(Math.floor(now + rest - inStep(1_000, began) - began + 250_000) % 250);
      }
    }
    expect([...places].every((place) => place <= 2 || place >= 248)).toBe(true);
  });

  it('goes on after so long again when it comes a little early or late', () => {
    const at = performance.now() + inStep(1_000);
    for (const off of [-4, 0, 4]) expect(Math.abs(at + off + inStep(1_000, at + off) - at - 1_000)).toBeLessThan(2);
  });

  it('leaves short rests as they are', () => {
    expect([inStep(1), inStep(100), inStep(499)]).toEqual([1, 100, 499]);
  });
});

describe('onTicks', () => {
  beforeEach(() => void jest.useFakeTimers());
  afterEach(() => void jest.useRealTimers());

  it('calls all of them with one timer, each as seldom as it wants, until it is ended', async () => {
    const calls: string[] = [];
    const ends = [onTicks(() => calls.push('often')), onTicks(() => calls.push('seldom'), 1_000)];
    expect(jest.getTimerCount()).toBe(1);
    await jest.advanceTimersByTimeAsync(4_000);
    const count = (what: string): number => calls.filter((call) => call === what).length;
    expect([15, 16, 17]).toContain(count('often'));
    expect([4, 5]).toContain(count('seldom'));
    for (const end of ends) end();
    expect(jest.getTimerCount()).toBe(0);
  });
});
