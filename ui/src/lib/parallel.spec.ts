import { describe, expect, it } from '@jest/globals';
import { forEach } from './parallel.js';

describe('forEach', () => {
  it('has no more under way than it may, and ends with all of them, whatever fails', async () => {
    let open = 0;
    let most = 0;
    const seen: number[] = [];
    const told: number[] = [];
    const { done, failed } = await forEach(
      Array.from({ length: 25 }, (_, i) => i),
      4,
      async (item) => {
        most = Math.max(most, ++open);
        seen.push(item);
        await Promise.resolve();
        await Promise.resolve();
        open--;
        if (item % 10 === 3) throw new Error(`not ${item}`);
      },
      (ended) => told.push(ended),
    );
    expect(most).toBe(4);
    expect(seen).toEqual(Array.from({ length: 25 }, (_, i) => i));
    expect(done).toHaveLength(22);
    expect(failed.map(({ item, why }) => [item, (why as Error).message])).toEqual([
      [3, 'not 3'],
      [13, 'not 13'],
      [23, 'not 23'],
    ]);
    expect(told.at(-1)).toBe(25);
  });

  it('does nothing for nothing', async () => {
    await expect(forEach([], 4, () => Promise.reject(new Error('never')))).resolves.toEqual({ done: [], failed: [] });
  });
});
