import { describe, expect, it } from '@jest/globals';
import { halving } from './halving.js';

const broken = new Error('it cannot be stored');
const down = new Error('nobody answers');

async function tried(batch: readonly number[], fails: (batch: readonly number[]) => Error | undefined) {
  const batches: (readonly number[])[] = [];
  const stored: number[] = [];
  const given: [number, unknown][] = [];
  await halving(
    batch,
    (some) => {
      batches.push(some);
      const failure = fails(some);
      if (failure !== undefined) return Promise.reject(failure);
      stored.push(...some);
      return Promise.resolve();
    },
    (error) => error === down,
    (item, error) => given.push([item, error]),
  );
  return { batches, stored, given };
}

describe('a batch', () => {
  it('is halved until what cannot be stored stands by itself', async () => {
    const { batches, stored, given } = await tried([1, 2, 3, 4, 5], (some) => (some.includes(4) ? broken : undefined));
    expect(batches).toEqual([[1, 2, 3, 4, 5], [1, 2], [3, 4, 5], [3], [4, 5], [4], [5]]);
    expect([stored, given]).toEqual([[1, 2, 3, 5], [[4, broken]]]);
  });

  it('is given up as a whole where smaller ones would fare no better', async () => {
    const { batches, given } = await tried([1, 2], () => down);
    expect([batches.length, given]).toEqual([
      1,
      [
        [1, down],
        [2, down],
      ],
    ]);
  });
});
