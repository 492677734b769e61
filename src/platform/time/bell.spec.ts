import { describe, expect, it } from '@jest/globals';
import { Bell } from './bell.js';

const LONG_MS = 600_000;
const never = new AbortController().signal;

/** Whether it is over once everything that can go on has gone on. */
async function isOver(waiting: Promise<void>): Promise<boolean> {
  let over = false;
  void waiting.then(() => (over = true));
  await new Promise((resolve) => setImmediate(resolve));
  return over;
}

describe('a bell', () => {
  it.each<[string, (bell: Bell) => Promise<void>]>([
    ['without a limit', (bell) => bell.heard()],
    ['for a while', (bell) => bell.heardWithin(LONG_MS, never)],
  ])('wakes who waits %s, and lets the next one pass once when nobody does', async (_, wait) => {
    const bell = new Bell();
    const waiting = wait(bell);
    expect(await isOver(waiting)).toBe(false);
    bell.ring();
    expect(await isOver(waiting)).toBe(true);
    bell.ring();
    expect(await isOver(wait(bell))).toBe(true);
    const next = wait(bell);
    expect(await isOver(next)).toBe(false);
    bell.ring();
    await next;
  });

  it('is heard no longer than it may', async () => {
    const stop = new AbortController();
    const waiting = new Bell().heardWithin(LONG_MS, stop.signal);
    stop.abort();
    await waiting;
    await new Bell().heardWithin(0, never);
  });

  it('forgets what was rung before it is hushed', async () => {
    const bell = new Bell();
    bell.ring();
    bell.hush();
    const waiting = bell.heard();
    expect(await isOver(waiting)).toBe(false);
    bell.ring();
    await waiting;
  });
});
