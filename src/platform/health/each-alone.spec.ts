import { describe, expect, it } from '@jest/globals';
import type { AppLogger } from '../logging/logger.js';
import { eachAlone } from './each-alone.js';

function recorder(): { log: AppLogger; told: unknown[] } {
  const told: unknown[] = [];
  return { told, log: { warn: (fields: object, text: string) => told.push({ ...fields, text }) } as unknown as AppLogger };
}

describe('what is done for one after the other', () => {
  it('goes on behind one that fails, and says which one that was', async () => {
    const { log, told } = recorder();
    const broken = new Error('broken');
    const done = await eachAlone([1, 2, 3], log, { failed: 'it could not be done', about: (n) => ({ n }) }, (n) =>
      n === 2 ? Promise.reject(broken) : Promise.resolve(n),
    );
    expect(done).toBe(4);
    expect(told).toEqual([{ err: broken, n: 2, text: 'it could not be done; the next turn tries again' }]);
  });

  it('counts what was done, and ends with the process', async () => {
    const stop = new AbortController();
    const done = await eachAlone([1, 2, 3], recorder().log, { failed: '', about: (n) => ({ n }), signal: stop.signal }, (n) => {
      if (n === 2) stop.abort();
      return Promise.resolve(n === 2);
    });
    expect(done).toBe(1);
  });
});
