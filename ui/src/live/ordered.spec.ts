import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { ORDERS, type BeadSort } from '../lib/bead-order.js';
import { Ordered, type Change } from './ordered.js';

interface Thing {
  readonly id: string;
  readonly created_at: string;
  readonly updated_at?: string;
  readonly priority?: number;
}

/** Many at the same moment and of the same priority, so that their ids decide. */
const thing = (n: number, place: number): Thing => ({
  id: `t${n}`,
  created_at: `2026-01-0${1 + (n % 4)}`,
  updated_at: `2026-02-0${1 + (place % 9)}`,
  ...(place % 3 === 0 ? {} : { priority: place % 5 }),
});

/** So many things that a few changes are placed, and not sorted. */
const THINGS = 200;

describe('rows in their order', () => {
  it('are what sorting all of them gives, whatever has come, gone or moved', () => {
    const step = fc.array(fc.record({ n: fc.nat(THINGS * 1.2), place: fc.nat(50), gone: fc.boolean() }), { maxLength: 20 });
    fc.assert(
      fc.property(fc.constantFrom<BeadSort>('created_at', 'updated_at', 'priority'), fc.array(step, { maxLength: 15 }), (sort, steps) => {
        const ordered = new Ordered<Thing>(({ id }) => id, ORDERS[sort]);
        const all = new Map(Array.from({ length: THINGS }, (_, n) => [`t${n}`, thing(n, n)]));
        const sorted = (): Thing[] => [...all.values()].sort(ORDERS[sort]);
        ordered.apply(
          [...all.values()].map((one) => [undefined, one]),
          () => [...all.values()],
        );
        for (const told of steps) {
          const before = new Map(all);
          for (const { n, place, gone } of told) {
            if (gone) all.delete(`t${n}`);
            else all.set(`t${n}`, thing(n, place));
          }
          const ids = new Set(told.map(({ n }) => `t${n}`));
          const changes = [...ids].map((id): Change<Thing> => [before.get(id), all.get(id)]);
          const { rows: shown, ids: named } = ordered;
          const was = [...shown];
          ordered.apply(changes, () => [...all.values()]);
          expect(ordered.rows).toEqual(sorted());
          expect(ordered.ids).toEqual(sorted().map(({ id }) => id));
          // Who holds what was shown before goes on seeing that.
          expect(shown).toEqual(was);
          const isInOrder = named.length === ordered.ids.length && named.every((id, i) => id === ordered.ids[i]);
          expect(ordered.ids === named).toBe(isInOrder);
        }
      }),
      { numRuns: 100 },
    );
  });

  it('are sorted anew where one is not where its order says', () => {
    const one = (id: string, place: number): Thing => ({ ...thing(0, 0), id, created_at: `2026-01-${place}` });
    const ordered = new Ordered<Thing>(({ id }) => id, ORDERS.created_at);
    const all = Array.from({ length: 40 }, (_, i) => one(`t${i}`, 10 + i));
    ordered.apply(
      all.map((item) => [undefined, item]),
      () => [...all],
    );
    const [first, ...rest] = all;
    const moved = one('t0', 90);
    ordered.apply([[{ ...first! }, moved]], () => [...rest, moved]);
    expect(ordered.ids[0]).toBe('t0');
    expect(ordered.rows).toHaveLength(40);
  });
});
