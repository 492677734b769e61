import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { DEEP } from '../support/depth.js';
import { BUGS, type Bug } from './bugs.js';
import { check } from './checker.js';
import { Model } from './model.js';

const STEPS = 250;
/** Every planted mistake has to be found within so many seeds. */
const SEEDS = 50;

const found = (seed: number, bug?: Bug): string[] => check(new Model(seed, bug).run(STEPS)).map((v) => v.property);

describe('the checker of chaos histories', () => {
  it('accepts every history of a correct model', () => {
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 2 ** 31 - 1 }), fc.integer({ min: 20, max: 400 }), (seed, steps) => {
        const history = new Model(seed).run(steps);
        expect(check(history)).toEqual([]);
        // A history that was saved and loaded shares no objects with itself.
        expect(check(structuredClone(history))).toEqual([]);
      }),
      { numRuns: DEEP ? 100 : 20 },
    );
  });

  it.each(Object.keys(BUGS) as Bug[])('finds: %s', (bug) => {
    const expected: readonly string[] = BUGS[bug];
    const seen = new Set<string>();
    for (let seed = 1; seed <= SEEDS; seed++) {
      const properties = found(seed, bug);
      for (const property of properties) seen.add(property);
      if (properties.some((p) => expected.includes(p))) return;
    }
    throw new Error(`not found within ${SEEDS} seeds; reported instead: ${[...seen].join(', ') || 'nothing'}`);
  });
});
