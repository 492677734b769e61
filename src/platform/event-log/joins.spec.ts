import { describe, expect, it } from '@jest/globals';
import { joinedSince, MOST_EARLIER } from './joins.js';

describe('where a stream begins for whoever was away', () => {
  const stream = { joinedSeq: 70, earlier: [10, 0, 20, 40] };

  it.each([
    [5, 0],
    [10, 0],
    [11, 40],
    [20, 40],
    [21, 70],
  ])('is, since event %i, at %i: where it joined first since then', (since, begins) => {
    expect(joinedSince(stream, since)).toBe(begins);
  });

  it('is before the log where it has joined too often to know', () => {
    const earlier = Array.from({ length: 2 * MOST_EARLIER }, (_, n) => 100 + n);
    expect([50, 101].map((since) => joinedSince({ joinedSeq: 70, earlier }, since))).toEqual([-1, 103]);
  });
});
