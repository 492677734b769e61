import { describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import { circle, type Holding } from './containment.js';

const holdings = (...pairs: readonly [string, string][]): Holding[] => pairs.map(([container, member]) => ({ container, member }));

describe('circle', () => {
  it('is the shortest way from the convoy through an item back to it', () => {
    expect(circle('a', ['x', 'a'], [])).toEqual(['a', 'a']);
    expect(circle('a', ['b'], holdings(['b', 'a']))).toEqual(['a', 'b', 'a']);
    const above = holdings(['b', 'a'], ['c', 'b'], ['d', 'c'], ['d', 'b'], ['e', 'd']);
    expect(circle('a', ['d'], above)).toEqual(['a', 'd', 'b', 'a']);
    expect(circle('a', ['e', 'c'], above)).toEqual(['a', 'c', 'b', 'a']);
  });

  it('is not there for beads that do not hold the convoy', () => {
    expect(circle('a', [], holdings(['b', 'a']))).toBeUndefined();
    expect(circle('a', ['x'], holdings(['b', 'a'], ['c', 'b']))).toBeUndefined();
  });

  it('is found exactly when an item holds the convoy, and every step of it is there, also among circles', () => {
    const name = fc.constantFrom<string[]>('a', 'b', 'c', 'd', 'e');
    const some = fc.array(fc.record({ container: name, member: name }), { maxLength: 12 });
    fc.assert(
      fc.property(fc.array(name, { maxLength: 3 }), some, (items, all) => {
        const holders = new Set(['a']);
        for (let size = 0; size !== holders.size;) {
          size = holders.size;
          for (const { container, member } of all) if (holders.has(member)) holders.add(container);
        }
        const above = all.filter(({ member }) => holders.has(member));
        const way = circle('a', items, above);
        expect(way !== undefined).toBe(items.some((item) => holders.has(item)));
        if (way === undefined) return;
        expect([way[0], way.at(-1), items.includes(way[1]!)]).toEqual(['a', 'a', true]);
        for (let i = 1; i + 1 < way.length; i++) expect(above).toContainEqual({ container: way[i], member: way[i + 1] });
      }),
    );
  });
});
