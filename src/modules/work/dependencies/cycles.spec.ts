import { describe, expect, it } from '@jest/globals';
import { formatCycle, shortestCycles, shortestPath } from './cycles.js';

const steps = (...pairs: string[]): { via: string; id: string }[] => pairs.map((pair) => ({ via: pair[0]!, id: pair[1]! }));

describe('the path of a cycle', () => {
  it('is the shortest one', () => {
    expect(shortestPath(steps('ab', 'bc', 'cd', 'ad'), 'a', 'd')).toEqual(['a', 'd']);
    expect(shortestPath(steps('ab', 'bc', 'cd'), 'a', 'd')).toEqual(['a', 'b', 'c', 'd']);
    expect(shortestPath([], 'a', 'a')).toEqual(['a']);
  });

  it('is found among other cycles, and absent when there is none', () => {
    expect(shortestPath(steps('ab', 'ba', 'bc'), 'a', 'c')).toEqual(['a', 'b', 'c']);
    expect(shortestPath(steps('ab', 'ba'), 'a', 'c')).toBeUndefined();
  });

  it('is shown whole, or its ends when it is very long', () => {
    expect(formatCycle(['a', 'b', 'a'])).toBe('a → b → a');
    const long = formatCycle(Array.from({ length: 1_000 }, (_, i) => `al-${i}`));
    expect(long).toMatch(/^al-0 → al-1 → .* → … → al-998 → al-999$/);
    expect(long.length).toBeLessThan(300);
  });
});

describe('the cycles that beads are part of', () => {
  it('are the shortest of each, and none of what only leads to one, or away', () => {
    const found = shortestCycles(steps('ab', 'bc', 'ca', 'cb', 'xa', 'by', 'yz', 'ss'), ['a', 'b', 'c', 'x', 'y', 'z', 's']);
    expect(Object.fromEntries(found)).toEqual({
      a: ['a', 'b', 'c', 'a'],
      b: ['b', 'c', 'b'],
      c: ['c', 'b', 'c'],
      s: ['s', 's'],
    });
  });

  it('are not those between which one comes by', () => {
    expect([...shortestCycles(steps('ab', 'ba', 'bm', 'mc', 'cd', 'dc'), ['m', 'c']).keys()]).toEqual(['c']);
    expect(shortestCycles(steps('ab', 'bc', 'ac'), ['a', 'b', 'c']).size).toBe(0);
  });
});
