import { describe, expect, it } from '@jest/globals';
import { eventually } from '../../../test/support/sse.js';
import { databaseWaits } from '../turns/database-waits.js';
import { GatheredReads, type GatheringLimits } from './gathered-reads.js';

/** What was asked has begun, and what was answered has been told. */
const turn = async (): Promise<void> => {
  for (let n = 0; n < 3; n++) await new Promise((resolve) => setImmediate(resolve));
};

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
      await turn();
    };
    return { rows, asked, answer };
  };

  it('reads for all who ask meanwhile with the next statement, each key once, and answers nothing that was read before the question', async () => {
    const { rows, asked, answer } = reads();
    const others = databaseWaits.count;
    const first = [rows.read(1), rows.read(1), rows.read(3)];
    await turn();
    expect(asked).toEqual([[1, 3]]);
    // Guard: feeding streams pauses for reads that wait.
    expect(databaseWaits.count).toBe(others + 1);
    const next = [rows.read(1), rows.read(2), rows.read(2), rows.read(4_000)];
    await answer();
    expect(await Promise.all(first)).toEqual(['row 1', 'row 1', 'row 3']);
    expect(asked[1]).toEqual([1, 2, 4_000]);
    await answer();
    expect(await Promise.all(next)).toEqual(['row 1', 'row 2', 'row 2', undefined]);
    expect(databaseWaits.count).toBe(others);
  });

  it('begins another statement beside one that is under way for few that have waited a moment, and no third', async () => {
    const { rows, asked, answer } = reads({ most: 40, lanes: 2 });
    void rows.read(0);
    await turn();
    const few = rows.read(1);
    await turn();
    expect(asked).toEqual([[0]]);
    await eventually(() => asked.length === 2);
    expect(asked[1]).toEqual([1]);
    const many = Array.from({ length: 50 }, (_, n) => rows.read(n + 2));
    await turn();
    expect(asked).toHaveLength(2);
    await answer();
    expect(await few).toBe('row 1');
    expect(asked[2]).toHaveLength(40);
    await answer();
    // The first one is under way still, and those that are left are few.
    await eventually(() => asked.length === 4);
    await answer();
    expect(await Promise.all(many)).toEqual(many.map((_, n) => `row ${n + 2}`));
  });

  it('begins it for many at once', async () => {
    const { rows, asked } = reads({ lanes: 2 });
    void rows.read(0);
    await turn();
    for (let n = 1; n <= 32; n++) void rows.read(n);
    await turn();
    expect(asked.map((keys) => keys.length)).toEqual([1, 32]);
  });

  it('fails for whom it was read, and goes on', async () => {
    const { rows, answer } = reads();
    const failed = rows.read(1);
    await turn();
    const next = rows.read(2);
    void answer(new Error('gone'));
    await expect(failed).rejects.toThrow('gone');
    await turn();
    await answer();
    expect(await next).toBe('row 2');
  });

  it('reads so many at once, and lets so many wait', async () => {
    const { rows, asked, answer } = reads();
    const first = rows.read(0);
    await turn();
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
