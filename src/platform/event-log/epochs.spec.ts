import { describe, expect, it } from '@jest/globals';
import { before, beginBelow, distance, endAbove, endOf, EPOCH_STEP, lostAfter, placeOf } from './epochs.js';

/** Ten events, an epoch without any, and one that goes on. */
const ENDS = [10, 10 + EPOCH_STEP];
const SECOND = 10 + EPOCH_STEP;
const THIRD = 10 + 2 * EPOCH_STEP;

describe('epochs of a stream', () => {
  it('have one place behind the last event of one and before the first of the next', () => {
    for (const seq of [10, SECOND, THIRD]) expect(placeOf(ENDS, seq)).toBe(THIRD);
    for (const seq of [10, SECOND, THIRD]) expect(endOf(ENDS, seq)).toBe(10);
    for (const seq of [0, 9, THIRD + 1]) expect([placeOf(ENDS, seq), endOf(ENDS, seq)]).toEqual([seq, seq]);
  });

  it('know which numbers belong to none of them', () => {
    for (const seq of [0, 9, 10, SECOND, THIRD, THIRD + 5]) expect(lostAfter(ENDS, seq)).toBeUndefined();
    for (const seq of [11, 500, EPOCH_STEP]) expect(lostAfter(ENDS, seq)).toBe(10);
    expect(lostAfter(ENDS, SECOND + 1)).toBe(SECOND);
    expect(lostAfter([10], 17, 5)).toBeUndefined();
  });

  it('count what was given, and not what was passed over', () => {
    expect(distance(ENDS, 0, THIRD + 5)).toBe(15);
    expect(distance(ENDS, 10, THIRD)).toBe(0);
    expect(distance(ENDS, 4, 9)).toBe(5);
    expect(distance([], 4, 9)).toBe(5);
  });

  it('bound a stretch in either direction', () => {
    expect(endAbove(ENDS, 3, THIRD + 5)).toBe(10);
    expect(endAbove(ENDS, THIRD, THIRD + 5)).toBe(THIRD + 5);
    expect(beginBelow(ENDS, 3, THIRD + 5)).toBe(THIRD);
    expect(beginBelow(ENDS, 3, 10)).toBe(3);
    expect([1, 5, 6, 15, 99].map((n) => before(ENDS, THIRD + 5, n))).toEqual([THIRD + 4, THIRD, 9, 0, 0]);
    expect(before([], 9, 4)).toBe(5);
  });
});
