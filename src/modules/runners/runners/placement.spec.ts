import { expect, it } from '@jest/globals';
import { share } from './placement.js';

const load = (id: string, held: number, capacity = 100) => ({ id, held, capacity });

it.each([
  ['all of it, alone', [load('a', 0)], 10, 0, 10],
  ['half of it', [load('a', 0), load('b', 0)], 10, 0, 5],
  ['the larger half', [load('a', 0), load('b', 0)], 11, 0, 6],
  ['what fills it up to the others', [load('a', 4), load('b', 10)], 6, 0, 6],
  ['nothing while others are emptier', [load('a', 10), load('b', 0)], 1, 0, 0],
  ['what nobody else has taken for a while', [load('a', 10), load('b', 0)], 3, 2, 2],
  ['by capacity', [load('a', 0, 30), load('b', 0, 10)], 20, 0, 15],
  ['no more than it has room for', [load('a', 99), load('b', 100)], 50, 50, 1],
  ['nothing when it is full', [load('a', 100), load('b', 0)], 50, 50, 0],
  ['nothing when it is not registered', [load('b', 0)], 50, 50, 0],
])('a runner takes %s', (_, loads, wanted, overdue, expected) => {
  expect(share('a', loads, wanted, overdue)).toBe(expected);
});
