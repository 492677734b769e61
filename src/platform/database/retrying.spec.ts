import { describe, expect, it } from '@jest/globals';
import { retrying } from './retrying.js';

const lost = (): Error => Object.assign(new Error('the connection is gone'), { code: 'ECONNRESET' });

/** Fails so often, then comes to its end. */
function failing(times: number, failure: () => Error): { work: () => Promise<number>; tried: () => number } {
  let tried = 0;
  return { tried: () => tried, work: () => (++tried <= times ? Promise.reject(failure()) : Promise.resolve(tried)) };
}

describe('what the database fails at', () => {
  it('is done again until it has been done', async () => {
    expect(await retrying(failing(3, lost).work, { mostMs: 1 })).toBe(4);
  });

  it('is not done again for any other reason', async () => {
    const { work, tried } = failing(1, () => new Error('a bug'));
    await expect(retrying(work, { mostMs: 1 })).rejects.toThrow('a bug');
    expect(tried()).toBe(1);
  });

  it('is left when it is not wanted any more', async () => {
    const { work, tried } = failing(9, lost);
    await expect(retrying(work, { mostMs: 1, goesOn: () => tried() < 3 })).rejects.toThrow('the connection is gone');
    expect(tried()).toBe(3);
  });
});
