import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { Lease } from './lease.js';

const TIMES = { leaseMs: 15_000, renewMs: 5_000 };

describe('Lease', () => {
  beforeEach(() => void jest.useFakeTimers());
  afterEach(() => void jest.useRealTimers());

  it('lasts as long as it is renewed, and no timer stays after it is closed', async () => {
    const lease = new Lease(async () => true, TIMES, 3_600_000);
    await jest.advanceTimersByTimeAsync(120_000);
    expect([lease.held, lease.signal.aborted]).toEqual([true, false]);
    lease.close();
    expect(jest.getTimerCount()).toBe(0);
  });

  it('is lost at once when a renewal is refused', async () => {
    const lease = new Lease(async () => false, TIMES, 3_600_000);
    await jest.advanceTimersByTimeAsync(5_000);
    expect(await lease.ended).toBe('lost');
    expect([lease.held, lease.signal.reason]).toEqual([false, expect.objectContaining({ why: 'lost' })]);
    expect(jest.getTimerCount()).toBe(0);
  });

  it('is lost when it runs out while renewals fail or hang', async () => {
    for (const renew of [() => Promise.reject(new Error('away')), () => new Promise<boolean>(() => undefined)]) {
      const lease = new Lease(renew, TIMES, 3_600_000);
      await jest.advanceTimersByTimeAsync(14_999);
      expect(lease.held).toBe(true);
      await jest.advanceTimersByTimeAsync(1);
      expect(lease.held).toBe(false);
    }
  });

  it('ends at the deadline but is still held, so that the failure can be written', async () => {
    const lease = new Lease(async () => true, TIMES, 10_000);
    await jest.advanceTimersByTimeAsync(9_000);
    lease.deadlineIn(10_000);
    await jest.advanceTimersByTimeAsync(9_999);
    expect(lease.signal.aborted).toBe(false);
    await jest.advanceTimersByTimeAsync(1);
    expect([await lease.ended, lease.held]).toEqual(['deadline', true]);
    await jest.advanceTimersByTimeAsync(60_000);
    expect(lease.held).toBe(true);
    lease.end('lost');
    expect([await lease.ended, lease.held]).toEqual(['deadline', false]);
  });

  it('takes a deadline beyond the range of timers', () => {
    const lease = new Lease(async () => true, TIMES, 1e12);
    expect(lease.signal.aborted).toBe(false);
    lease.close();
  });
});
