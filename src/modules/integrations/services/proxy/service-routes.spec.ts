import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import type { Routed, ServicesRepository } from '../services.repository.js';
import { ServiceRoutes } from './service-routes.js';

/** Reads that end when they are told to. */
class Reads {
  readonly begun: { end: (row: Routed | undefined) => void; fail: () => void }[] = [];
  readonly routes = new ServiceRoutes({ route: () => this.#route() } as unknown as ServicesRepository);

  ask(service = 'board'): Promise<Routed | null | undefined> {
    return this.routes.read('alpha', service);
  }

  #route(): Promise<Routed | undefined> {
    return new Promise((resolve, reject) => this.begun.push({ end: resolve, fail: () => reject(new Error('away')) }));
  }
}

const row = (pk: number): Routed => ({ pk }) as Routed;
/** What has ended is known to those who wait for it. */
const settled = (): Promise<void> => jest.advanceTimersByTimeAsync(0);

describe('where requests for a service go', () => {
  beforeEach(() => void jest.useFakeTimers());
  afterEach(() => void jest.useRealTimers());

  // Guard: nobody is told what was true longer before he came.
  it('is read once for all who come within 20 ms, and anew for whoever comes later', async () => {
    const reads = new Reads();
    const first = [reads.ask(), reads.ask()];
    const other = reads.ask('chat');
    expect(reads.begun).toHaveLength(2);
    reads.begun[0]!.end(row(1));
    reads.begun[1]!.end(undefined);
    expect(await Promise.all(first)).toEqual([row(1), row(1)]);
    expect(await other).toBeUndefined();
    await jest.advanceTimersByTimeAsync(11);
    expect(await reads.ask()).toEqual(row(1));
    expect(reads.begun).toHaveLength(2);
    await jest.advanceTimersByTimeAsync(9);
    const later = reads.ask();
    expect(reads.begun).toHaveLength(3);
    reads.begun[2]!.end(row(2));
    expect(await later).toEqual(row(2));
  });

  it('is read again before somebody has to wait for it, and the last read counts until then', async () => {
    const reads = new Reads();
    void reads.ask();
    reads.begun[0]!.end(row(1));
    await jest.advanceTimersByTimeAsync(12);
    expect(await reads.ask()).toEqual(row(1));
    expect(reads.begun).toHaveLength(2);
    expect(await reads.ask()).toEqual(row(1));
    reads.begun[1]!.end(row(2));
    await settled();
    expect(await reads.ask()).toEqual(row(2));
    expect(reads.begun).toHaveLength(2);
  });

  it('has one read at a time, however long that takes: what began too early is followed by one for all who came since', async () => {
    const reads = new Reads();
    const first = reads.ask();
    await jest.advanceTimersByTimeAsync(21);
    const later = [reads.ask(), reads.ask()];
    expect(reads.begun).toHaveLength(1);
    reads.begun[0]!.end(row(1));
    expect(await first).toEqual(row(1));
    await settled();
    expect(reads.begun).toHaveLength(2);
    reads.begun[1]!.end(row(2));
    expect(await Promise.all(later)).toEqual([row(2), row(2)]);
  });

  it('is read anew after a read that has failed', async () => {
    const reads = new Reads();
    const failed = reads.ask();
    await jest.advanceTimersByTimeAsync(21);
    const waits = reads.ask();
    reads.begun[0]!.fail();
    await expect(failed).rejects.toThrow('away');
    await settled();
    reads.begun[1]!.end(row(2));
    expect(await waits).toEqual(row(2));
    // One that was to come before it was waited for, too.
    await jest.advanceTimersByTimeAsync(12);
    expect(await reads.ask()).toEqual(row(2));
    reads.begun[2]!.fail();
    await settled();
    const again = reads.ask();
    reads.begun[3]!.end(row(3));
    expect(await again).toEqual(row(3));
  });
});
