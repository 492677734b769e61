import { describe, expect, it } from '@jest/globals';
import { Shares } from './shares.js';

/** Each takes as many as it may, one after the other. */
const taken = (shares: Shares<string>, cities: readonly string[]): number[] =>
  cities.map((city) => {
    let n = 0;
    for (; shares.admits(city); n++) shares.take(city);
    return n;
  });

describe('Shares', () => {
  it.each([
    [{ places: 8, perCity: 4 }, [4, 2, 1, 1]],
    [{ places: 8, perCity: 2 }, [2, 2, 1, 1, 1, 1]],
    [{ places: 8, perCity: 8 }, [8]],
    [{ places: 1, perCity: 1 }, [1]],
    [{ places: 100, perCity: 90 }, [90, 9, 1]],
  ])('%j: one after the other, cities that take all they may have %j', (limits, expected) => {
    const cities = expected.map((_, n) => `city-${n}`);
    expect(taken(new Shares(limits), cities)).toEqual(expected);
  });

  it('lets one have more again as others leave', () => {
    const shares = new Shares<string>({ places: 4, perCity: 2 });
    const leave = [shares.take('a'), shares.take('a')];
    const other = shares.take('b');
    expect([shares.holders, shares.full]).toEqual([
      ['a', 'b'],
      ['a', 'b'],
    ]);
    other();
    leave[0]!();
    expect([shares.holders, shares.full]).toEqual([['a'], []]);
    leave[1]!();
    expect(shares.holders).toEqual([]);
  });
});
