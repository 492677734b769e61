import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { abortedAfter, LONGEST_TIMER_MS, sleep } from './clock.js';

/** Node's own, and what it was asked for since. */
const { setTimeout: real } = globalThis;
const { timeout } = AbortSignal;
let asked: number[];

beforeEach(() => {
  asked = [];
  globalThis.setTimeout = ((work: (...given: unknown[]) => void, ms: number, ...given: unknown[]) => {
    asked.push(ms);
    return real(work, 0, ...given);
  }) as typeof setTimeout;
  AbortSignal.timeout = (ms) => (asked.push(ms), AbortSignal.abort());
});
afterEach(() => {
  globalThis.setTimeout = real;
  AbortSignal.timeout = timeout;
});

describe('a sleep', () => {
  // Guard: Node fires a timer at once that is longer than it can be.
  it('of more than the longest timer is as long as it was asked for', async () => {
    await sleep(2 * LONGEST_TIMER_MS + 5);
    expect(asked).toEqual([LONGEST_TIMER_MS, LONGEST_TIMER_MS, 5]);
    await sleep(LONGEST_TIMER_MS);
    expect(asked.slice(3)).toEqual([LONGEST_TIMER_MS]);
  });

  it('ends with its signal, also in the middle of a long time', async () => {
    const stop = new AbortController();
    const slept = sleep(Infinity, stop.signal);
    await new Promise(setImmediate);
    stop.abort();
    await slept;
    const { length } = asked;
    await new Promise((resolve) => real(resolve, 5));
    expect(asked).toHaveLength(length);
  });
});

describe('a limit', () => {
  // Guard: the same of signals.
  it('of more than the longest timer is that', () => {
    abortedAfter(2 ** 40);
    abortedAfter(5);
    expect(asked).toEqual([LONGEST_TIMER_MS, 5]);
  });
});
