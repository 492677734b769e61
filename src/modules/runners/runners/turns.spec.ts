import { describe, expect, it } from '@jest/globals';
import { inTurn } from './turns.js';

const line = (streamId: number, many: number) => Array.from({ length: many }, (_, n) => ({ streamId, n }));
const order = (chosen: readonly { streamId: number; n: number }[]): string => chosen.map(({ streamId, n }) => `${streamId}.${n}`).join(' ');

describe('inTurn', () => {
  const limits = { places: 10, perCity: 9 };
  const none = { held: new Map<number, number>(), limits: { places: 16, perCity: 12 }, isFull: false };
  it.each([
    ['one of each in turn, each line in its order', [...line(1, 3), ...line(2, 2)], {}, 0, '1.0 2.0 1.1 2.1 1.2'],
    ['first the city behind the one that was served last', [...line(1, 2), ...line(2, 1), ...line(3, 1)], {}, 1, '2.0 3.0 1.0 1.1'],
    ['a city that has less before one that has more', [...line(1, 3), ...line(2, 3)], { 1: 3 }, 0, '2.0 2.1 2.2 1.0 1.1'],
    ['no more of a city than it may have', line(1, 3), { 1: 8 }, 0, '1.0'],
    ['of others what is left', [...line(1, 3), ...line(2, 3)], { 1: 9 }, 0, '2.0'],
    ['nothing when all is taken', line(2, 1), { 1: 10 }, 0, ''],
  ])('takes %s', (_, waiting, held, last, expected) => {
    const has = new Map(Object.entries(held).map(([city, n]) => [Number(city), n]));
    expect(order(inTurn(waiting, { held: has, limits }, { starts: none, last, many: 5 }))).toBe(expected);
  });

  // Guard: a start takes as long as its city likes, and there are few at once.
  it('takes no more of a city than it may have of the starts in progress', () => {
    const places = { held: new Map([[1, 3]]), limits: { places: 100, perCity: 90 } };
    const take = (started: number, waiting: ReturnType<typeof line>): string => {
      const starts = { held: new Map([[1, started]]), limits: { places: 4, perCity: 3 }, isFull: false };
      return order(inTurn(waiting, places, { starts, last: 0, many: 4 }));
    };
    const both = [...line(1, 3), ...line(2, 1)];
    expect([take(2, line(1, 3)), take(3, line(1, 3)), take(2, both), take(3, both)]).toEqual(['1.0', '', '2.0 1.0', '2.0']);
  });

  // Guard: what one city has of the starts is bounded also where slow ones have all places.
  it('takes beside slow starts no more of a city than it may have of them, and first one that has the fewest', () => {
    const places = {
      held: new Map([
        [1, 3],
        [2, 40],
      ]),
      limits: { places: 100, perCity: 90 },
    };
    const take = (started: [number, number][], many: number): string => {
      const starts = { held: new Map(started), limits: { places: 4, perCity: 3 }, isFull: true };
      return order(inTurn([...line(1, 3), ...line(2, 2)], places, { starts, last: 0, many }));
    };
    expect([
      take(
        [
          [1, 3],
          [2, 1],
        ],
        9,
      ),
      take(
        [
          [1, 3],
          [2, 3],
        ],
        9,
      ),
      take(
        [
          [1, 2],
          [2, 1],
        ],
        1,
      ),
    ]).toEqual(['2.0 2.1', '', '2.0']);
  });
});
