import { describe, expect, it } from '@jest/globals';
import { formatCycle, shortestPath } from './cycles.js';

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
