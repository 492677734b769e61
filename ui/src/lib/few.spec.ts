import { describe, expect, it } from '@jest/globals';
import { Few } from './few.js';

describe('what is done a few at a time', () => {
  // Guard: a long inbox does not ask for all transcripts at once.
  it('has no more of it under way, in its order, and fails alone', async () => {
    const few = new Few(2);
    const begun: number[] = [];
    const ends: ((failed: boolean) => void)[] = [];
    const all = Array.from({ length: 5 }, (_, i) =>
      few.run(() => {
        begun.push(i);
        return new Promise<number>((resolve, reject) => (ends[i] = (failed) => (failed ? reject(new Error('refused')) : resolve(i))));
      }),
    );
    const settled = Promise.allSettled(all);
    expect(begun).toEqual([0, 1]);
    for (const [i, failed] of [false, true, false, false, false].entries()) {
      ends[i]!(failed);
      await new Promise(setImmediate);
      expect(begun).toHaveLength(Math.min(5, i + 3));
    }
    expect((await settled).map(({ status }) => status === 'fulfilled')).toEqual([true, false, true, true, true]);
    expect(begun).toEqual([0, 1, 2, 3, 4]);
    await expect(few.run(async () => 'again')).resolves.toBe('again');
  });
});
