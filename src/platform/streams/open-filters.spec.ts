import { describe, expect, it } from '@jest/globals';
import { OpenFilters } from './open-filters.js';

describe('filters that a key has open', () => {
  // Guard: the filters of a key are bounded.
  it('are so many of one stream, each counted once, until the last of its streams has ended', () => {
    const filters = new OpenFilters();
    filters.most = 2;
    const refused = (key: string | undefined, stream: string, filter: string): boolean =>
      filters.refusal(key, stream, filter) !== undefined;
    const [first, again] = [filters.add('key', 'one', 'a'), filters.add('key', 'one', 'a')];
    filters.add('key', 'one', 'b');
    expect(filters.refusal('key', 'one', 'c')).toMatchObject({
      kind: { status: 429 },
      message: expect.stringContaining('of this key: 2 different filters of one stream open at once') as unknown,
    });
    expect([refused('key', 'one', 'a'), refused('key', 'two', 'c'), refused('other', 'one', 'c')]).toEqual([false, false, false]);
    first();
    expect(refused('key', 'one', 'c')).toBe(true);
    again();
    expect(refused('key', 'one', 'c')).toBe(false);
  });

  it('count for nobody in particular where nobody says who he is', () => {
    const filters = new OpenFilters();
    filters.most = 1;
    filters.add(undefined, 'one', 'a');
    expect(filters.refusal(undefined, 'one', 'b')).toBeDefined();
    expect(filters.refusal('key', 'one', 'b')).toBeUndefined();
  });
});
