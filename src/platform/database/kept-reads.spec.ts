import { afterEach, describe, expect, it, jest } from '@jest/globals';
import { KeptReads } from './kept-reads.js';

interface Row {
  readonly version: string | null;
  readonly text: string;
  readonly head: number;
}

afterEach(() => void jest.restoreAllMocks());

describe('KeptReads', () => {
  const table = new Map<string, Row>();
  let head = 0;
  let seen: string[] = [];
  let whole: string[] = [];
  const reads = (mostBytes?: number): KeptReads<string, Row, Omit<Row, 'text'>> => {
    table.clear();
    [seen, whole] = [[], []];
    const rows = (keys: readonly string[]): [string, Row][] =>
      keys.flatMap((key) => (table.has(key) ? [[key, { ...table.get(key)!, head }] as [string, Row]] : []));
    return new KeptReads(
      {
        seen: async (keys) => {
          seen.push(...keys);
          return rows(keys).map(([key, { version, head }]) => [key, { version, head }] as const);
        },
        whole: async (keys) => {
          whole.push(...keys);
          return rows(keys);
        },
        bytes: ({ text }) => text.length,
      },
      {},
      mostBytes,
    );
  };
  const put = (key: string, version: string | null, text = `${key}, ${version}`): void => void table.set(key, { version, text, head });

  it('reads a row whole once for each version, and what changes without it each time', async () => {
    const kept = reads();
    put('a', '1');
    head = 7;
    expect(await kept.read('a')).toEqual({ version: '1', text: 'a, 1', head: 7 });
    head = 8;
    expect(await Promise.all([kept.read('a'), kept.read('a')])).toEqual(Array(2).fill({ version: '1', text: 'a, 1', head: 8 }));
    expect([whole, seen]).toEqual([['a'], ['a']]);
    put('a', '2');
    expect(await kept.read('a')).toMatchObject({ text: 'a, 2' });
    expect(await kept.read('a')).toMatchObject({ text: 'a, 2' });
    expect([whole, seen]).toEqual([
      ['a', 'a'],
      ['a', 'a', 'a'],
    ]);
  });

  it('keeps nothing of a row that is gone, or that has no version', async () => {
    const kept = reads();
    put('a', '1');
    await kept.read('a');
    put('a', null, 'for now');
    expect(await kept.read('a')).toMatchObject({ text: 'for now' });
    put('a', null, 'for later');
    expect(await kept.read('a')).toMatchObject({ text: 'for later' });
    expect([whole, seen]).toEqual([['a', 'a', 'a'], ['a']]);
    put('a', '2');
    await kept.read('a');
    table.delete('a');
    expect(await kept.read('a')).toBeUndefined();
    expect(await kept.read('b')).toBeUndefined();
  });

  it('forgets the oldest beyond its bytes', async () => {
    const kept = reads(100);
    for (const key of ['a', 'b', 'c', 'd', 'e', 'f']) {
      put(key, '1', 'x'.repeat(25));
      await kept.read(key);
    }
    whole = [];
    for (const key of ['f', 'e', 'd', 'c']) await kept.read(key);
    expect(whole).toEqual([]);
    await kept.read('a');
    expect(whole).toEqual(['a']);
  });

  it('reads a row whole again after two minutes at most, and keeps none that nobody has asked for', async () => {
    let now = performance.now();
    jest.spyOn(performance, 'now').mockImplementation(() => now);
    const kept = reads();
    put('a', '1');
    await kept.read('a');
    for (const seconds of [50, 50, 19]) {
      now += seconds * 1_000;
      await kept.read('a');
    }
    expect(whole).toEqual(['a']);
    now += 12_000;
    await kept.read('a');
    expect(whole).toEqual(['a', 'a']);
    now += 600_000;
    await kept.read('a');
    expect(whole).toEqual(['a', 'a', 'a']);
  });
});
