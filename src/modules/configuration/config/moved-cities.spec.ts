import { describe, expect, it } from '@jest/globals';
import { ASKED, MovedCities } from './moved-cities.js';

describe('cities whose logs have moved', () => {
  it('are asked about once, and all of them at first and now and then', () => {
    const moved = new MovedCities();
    moved.add(new Set(['before']));
    expect(moved.take(0)).toBe('all');
    moved.add(new Set(['a', 'b']));
    moved.add(new Set(['a']));
    expect([moved.take(1), moved.take(2)]).toEqual([['a', 'b'], []]);
    expect(moved.take(9_999)).toEqual([]);
    expect([moved.take(10_000), moved.take(10_001)]).toEqual(['all', []]);
    moved.add('all');
    expect(moved.take(10_002)).toBe('all');
  });

  it('are asked about in turns when they are more than one statement has', () => {
    const moved = new MovedCities();
    moved.take(0);
    moved.add(new Set(Array.from({ length: ASKED + 1 }, (_, n) => `city-${n}`)));
    expect([moved.take(1).length, moved.take(1), moved.take(1)]).toEqual([ASKED, [`city-${ASKED}`], []]);
  });
});
