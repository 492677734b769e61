import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { ORDER_BUGS } from './orders-bugs.js';
import { checkOrders } from './orders-checker.js';
import type { OrdersHistory } from './orders-history.js';
import { OrdersModel } from './orders-model.js';

const SEEDS = 8;
/** So often each order is fired. */
const LEAST = 3;

const told = (seed: number, least = LEAST): OrdersHistory => new OrdersModel(seed).run(least);

describe('the checker of runs with orders', () => {
  it('accepts what a correct model tells', () => {
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 2 ** 31 - 1 }), fc.integer({ min: 1, max: 6 }), (seed, least) => {
        expect(checkOrders(told(seed, least))).toEqual([]);
      }),
      { numRuns: 50 },
    );
  });

  // Otherwise every mistake below, which is made in a copy, would be found by the copying.
  it('accepts a copy of what a correct model tells', () => {
    for (let seed = 1; seed <= SEEDS; seed++) expect(checkOrders(structuredClone(told(seed)))).toEqual([]);
  });

  it.each(Object.keys(ORDER_BUGS))('finds, whenever it is made: %s', (bug) => {
    const [property, make] = ORDER_BUGS[bug]!;
    for (let seed = 1; seed <= SEEDS; seed++) {
      const history = structuredClone(told(seed));
      make(history);
      const found = [...new Set(checkOrders(history).map((violation) => violation.property))];
      expect({ seed, found }).toEqual({ seed, found: expect.arrayContaining([property]) });
    }
  });
});
