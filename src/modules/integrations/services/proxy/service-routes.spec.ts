import { describe, expect, it } from '@jest/globals';
import type { Routed, ServicesRepository } from '../services.repository.js';
import { ServiceRoutes } from './service-routes.js';

/** Reads that end when they are told to. */
class Reads {
  readonly begun: { end: (row: Routed | undefined) => void; fail: () => void }[] = [];
  readonly routes = new ServiceRoutes({ route: () => this.#route() } as unknown as ServicesRepository);

  #route(): Promise<Routed | undefined> {
    return new Promise((resolve, reject) => this.begun.push({ end: resolve, fail: () => reject(new Error('away')) }));
  }
}

const row = (pk: number): Routed => ({ pk }) as Routed;
/** Once so many reads have begun. */
async function begun(reads: Reads, count: number): Promise<void> {
  while (reads.begun.length < count) await new Promise((resolve) => setImmediate(resolve));
}
const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

describe('where requests for a service go', () => {
  // Guard: nobody is told what was true before he came.
  it('is read once for all who come while it is read, and never before they came', async () => {
    const reads = new Reads();
    const first = reads.routes.read('alpha', 'board');
    const later = [reads.routes.read('alpha', 'board'), reads.routes.read('alpha', 'board')];
    const other = reads.routes.read('alpha', 'chat');
    expect(reads.begun).toHaveLength(2);
    reads.begun[0]!.end(row(1));
    expect(await first).toEqual(row(1));
    await begun(reads, 3);
    reads.begun[2]!.end(row(2));
    expect(await Promise.all(later)).toEqual([row(2), row(2)]);
    reads.begun[1]!.end(undefined);
    expect(await other).toBeUndefined();
  });

  it('is read anew after a read that has failed, and when nobody asks any more', async () => {
    const reads = new Reads();
    const failed = reads.routes.read('alpha', 'board');
    const waits = reads.routes.read('alpha', 'board');
    reads.begun[0]!.fail();
    await expect(failed).rejects.toThrow('away');
    await begun(reads, 2);
    reads.begun[1]!.end(row(2));
    expect(await waits).toEqual(row(2));
    await turn();
    const again = reads.routes.read('alpha', 'board');
    expect(reads.begun).toHaveLength(3);
    reads.begun[2]!.end(row(3));
    expect(await again).toEqual(row(3));
  });
});
