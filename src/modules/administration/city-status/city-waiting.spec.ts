import { expect, it } from '@jest/globals';
import { waitingOf } from './city-waiting.js';

const idle = { waiting: 0, working: 3, alone: 48, beside: 3 };
const slots = { places: 8, perCity: 4 };
const none = { waiting: 0, places: 100, taken: 0, runners: 1, own: 0 };

it.each([
  ['nothing', { waiting: 0, running: 3 }, none, []],
  [
    'operations of a city that has its share',
    { waiting: 16, running: 4 },
    none,
    ['16 operations: 4 of the city run: a worker has 8 places, at most 4 of them for one city'],
  ],
  [
    'operations behind those of others',
    { waiting: 1, running: 0 },
    none,
    ['1 operations: all places of the workers are taken: a worker has 8 places, at most 4 of them for one city'],
  ],
  [
    'sessions without workers',
    { waiting: 0, running: 0 },
    { ...none, waiting: 2, runners: 0, places: 0 },
    ['2 sessions: no worker takes sessions'],
  ],
  [
    'sessions where all is taken',
    { waiting: 0, running: 0 },
    { ...none, waiting: 2, taken: 100, own: 7 },
    ['2 sessions: all 100 places of 1 worker are taken, 7 by the city'],
  ],
  [
    'sessions of a city that has its share',
    { waiting: 0, running: 0 },
    { waiting: 5, places: 200, runners: 2, taken: 180, own: 180 },
    ['5 sessions: the city has 180 of 200 places of 2 workers; what is left is for others'],
  ],
  [
    'sessions of a program that workers lack',
    { waiting: 0, running: 0 },
    { ...none, waiting: 1 },
    ['1 sessions: no worker with their program has room'],
  ],
])('says why %s waits', (_, operations, sessions, expected) => {
  expect(
    waitingOf({ requests: idle, operations, sessions, slots }).map(({ what, count, reason }) => `${count} ${what}: ${reason}`),
  ).toEqual(expected);
});

it('says why requests wait', () => {
  const [found] = waitingOf({ requests: { ...idle, waiting: 7 }, operations: { waiting: 0, running: 0 }, sessions: none, slots });
  const reason = "this replica works on 3 of the city's requests; one city has at most 48 there, 3 beside others";
  expect(found).toEqual({ what: 'requests', count: 7, reason });
});
