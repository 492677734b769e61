import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { SESSION_BUGS } from './sessions-bugs.js';
import { checkSessions } from './sessions-checker.js';
import type { SessionsHistory } from './sessions-history.js';
import { SessionsModel } from './sessions-model.js';

const SESSIONS = 3;
const SEEDS = 20;

const told = (seed: number, steps = 8): SessionsHistory => new SessionsModel(seed).run(SESSIONS, steps);

describe('the checker of runs with sessions', () => {
  it('accepts what a correct model tells', () => {
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 2 ** 31 - 1 }), fc.integer({ min: 0, max: 25 }), (seed, steps) => {
        expect(checkSessions(told(seed, steps))).toEqual([]);
      }),
      { numRuns: 100 },
    );
  });

  // Otherwise every mistake below, which is made in a copy, would be found by the copying.
  it('accepts a copy of what a correct model tells', () => {
    for (let seed = 1; seed <= SEEDS; seed++) expect(checkSessions(structuredClone(told(seed)))).toEqual([]);
  });

  it.each(Object.keys(SESSION_BUGS))('finds, whenever it is made: %s', (bug) => {
    const [property, make] = SESSION_BUGS[bug]!;
    for (let seed = 1; seed <= SEEDS; seed++) {
      const history = structuredClone(told(seed));
      make(history);
      const found = [...new Set(checkSessions(history).map((violation) => violation.property))];
      expect({ seed, found }).toEqual({ seed, found: expect.arrayContaining([property]) });
    }
  });
});
