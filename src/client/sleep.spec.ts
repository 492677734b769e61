import { describe, expect, it } from '@jest/globals';
import { sleep, timeLimit } from './sleep.js';

describe('a limit of time', () => {
  it.each([2 ** 31, 2 ** 32, 2 ** 40])('of %s ms, longer than a timer can wait, has not come at once', async (ms) => {
    const limit = timeLimit(ms);
    await new Promise((resolve) => setTimeout(resolve, 20));
    expect(limit.aborted).toBe(false);
  });

  it('comes', async () => {
    const limit = timeLimit(1);
    await new Promise((resolve) => limit.addEventListener('abort', resolve));
    expect(limit.aborted).toBe(true);
  });
});

it('waits as long as a timer can, where it is to wait longer', async () => {
  let over = false;
  const stop = new AbortController();
  const waiting = sleep(2 ** 40, stop.signal).then(() => void (over = true));
  await new Promise((resolve) => setTimeout(resolve, 20));
  expect(over).toBe(false);
  stop.abort();
  await waiting;
});
