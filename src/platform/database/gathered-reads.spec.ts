import { describe, expect, it } from '@jest/globals';
import { GatheredReads, type GatheringLimits } from './gathered-reads.js';

describe('GatheredReads', () => {
  const reads = (
    limits?: GatheringLimits,
  ): { rows: GatheredReads<number, string>; asked: (readonly number[])[]; answer: (error?: Error) => Promise<void> } => {
    const asked: (readonly number[])[] = [];
    const open: PromiseWithResolvers<readonly (readonly [number, string])[]>[] = [];
    const rows = new GatheredReads<number, string>((keys) => {
      asked.push(keys);
      const reading = Promise.withResolvers<readonly (readonly [number, string])[]>();
      open.push(reading);
      return reading.promise;
    }, limits);
    const answer = async (error?: Error): Promise<void> => {
      const keys = asked.at(-1)!.filter((key) => key < 1_000);
      if (error === undefined) open.at(-1)!.resolve(keys.map((key) => [key, `row ${key}`] as const));
      else open.at(-1)!.reject(error);
      await new Promise((resolve) => setImmediate(resolve));
    };
    return { rows, asked, answer };
  };

  it('reads for all who ask meanwhile with the next statement, each key once, and answers nothing that was read before the question', async () => {
    const { rows, asked, answer } = reads();
    const first = rows.read(1);
    const next = [rows.read(1), rows.read(2), rows.read(2), rows.read(4_000)];
    await answer();
    expect([await first, asked]).toEqual(['row 1', [[1], [1, 2, 4_000]]]);
    await answer();
    expect(await Promise.all(next)).toEqual(['row 1', 'row 2', 'row 2', undefined]);
  });

  it('begins as many statements at once as there are lanes', async () => {
    const { rows, asked, answer } = reads({ lanes: 2, most: 2 });
    const all = [1, 2, 3, 4, 5].map((key) => rows.read(key));
    expect(asked).toEqual([[1], [2]]);
    await answer();
    expect([await all[1], asked]).toEqual(['row 2', [[1], [2], [3, 4]]]);
  });

  it('fails for whom it was read, and goes on', async () => {
    const { rows, answer } = reads();
    const failed = rows.read(1);
    const next = rows.read(2);
    void answer(new Error('gone'));
    await expect(failed).rejects.toThrow('gone');
    await answer();
    expect(await next).toBe('row 2');
  });

  it('reads so many at once, and lets so many wait', async () => {
    const { rows, asked, answer } = reads();
    const first = rows.read(0);
    const waiting = Array.from({ length: 10_000 }, (_, n) => rows.read(n + 1));
    await expect(rows.read(20_000)).rejects.toMatchObject({ problem: 'unavailable' });
    await answer();
    await first;
    expect(asked.at(-1)!.length).toBe(500);
    while (asked.at(-1)!.at(-1)! < 10_000) await answer();
    await answer();
    expect((await Promise.all(waiting)).filter((row) => row !== undefined).length).toBe(999);
    expect(asked.length).toBe(21);
  });
});
