import { describe, expect, it } from '@jest/globals';
import { AutoResetEvent } from './auto-reset-event.js';

const LONG_MS = 600_000;
const never = new AbortController().signal;

/** Whether it is over once everything that can go on has gone on. */
async function isOver(waiting: Promise<void>): Promise<boolean> {
  let over = false;
  void waiting.then(() => (over = true));
  await new Promise((resolve) => setImmediate(resolve));
  return over;
}

describe('an auto-reset event', () => {
  it.each<[string, (event: AutoResetEvent) => Promise<void>]>([
    ['without a limit', (event) => event.wait()],
    ['for a while', (event) => event.waitFor(LONG_MS, never)],
  ])('wakes who waits %s, and lets the next one pass once when nobody does', async (_, wait) => {
    const event = new AutoResetEvent();
    const waiting = wait(event);
    expect(await isOver(waiting)).toBe(false);
    event.set();
    expect(await isOver(waiting)).toBe(true);
    event.set();
    expect(await isOver(wait(event))).toBe(true);
    const next = wait(event);
    expect(await isOver(next)).toBe(false);
    event.set();
    await next;
  });

  it('is waited for no longer than it may', async () => {
    const stop = new AbortController();
    const waiting = new AutoResetEvent().waitFor(LONG_MS, stop.signal);
    stop.abort();
    await waiting;
    await new AutoResetEvent().waitFor(0, never);
  });

  it('forgets what was rung before it is hushed', async () => {
    const event = new AutoResetEvent();
    event.set();
    event.reset();
    const waiting = event.wait();
    expect(await isOver(waiting)).toBe(false);
    event.set();
    await waiting;
  });
});
