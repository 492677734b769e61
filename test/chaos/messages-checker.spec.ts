import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { MESSAGE_BUGS } from './messages-bugs.js';
import { checkMessages } from './messages-checker.js';
import type { MessagesHistory } from './messages-history.js';
import { MessagesModel } from './messages-model.js';

const SEEDS = 6;

const told = (seed: number, least = 2): MessagesHistory => new MessagesModel(seed).run(least);

describe('the checker of runs with messages from outside', () => {
  it('accepts what a correct model tells', () => {
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 2 ** 31 - 1 }), fc.integer({ min: 1, max: 5 }), (seed, least) => {
        expect(checkMessages(told(seed, least))).toEqual([]);
      }),
      { numRuns: 30 },
    );
  });

  // Otherwise every mistake below, which is made in a copy, would be found by the copying.
  it('accepts a copy of what a correct model tells', () => {
    for (let seed = 1; seed <= SEEDS; seed++) expect(checkMessages(structuredClone(told(seed)))).toEqual([]);
  });

  it.each(Object.keys(MESSAGE_BUGS))('finds, whenever it is made: %s', (bug) => {
    const [property, make] = MESSAGE_BUGS[bug]!;
    for (let seed = 1; seed <= SEEDS; seed++) {
      const history = structuredClone(told(seed));
      make(history);
      const found = [...new Set(checkMessages(history).map((violation) => violation.property))];
      expect({ seed, found }).toEqual({ seed, found: expect.arrayContaining([property]) });
    }
  });
});
