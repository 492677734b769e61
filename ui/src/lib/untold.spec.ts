import { expect, it } from '@jest/globals';
import { untold } from './untold.js';

const one = { location: 'body.name', message: 'is in use' };

it('says once what is wrong with the one member', () => {
  expect(untold('conflict: is in use', [one])).toEqual([]);
  expect(untold('invalid: validation failed', [one])).toEqual([one]);
});

// Guard: words of a member that happen to stand somewhere in those of the whole say where they belong.
it.each([
  ['conflict: the name is in use by a rig', [one]],
  ['conflict: the name is in use', [one]],
  ['invalid: a, b: is in use', [one, { location: 'body.prefix', message: 'b' }]],
  ['invalid: nothing', [{ location: 'body.name' }]],
])('keeps what it is about otherwise: %s', (said, errors) => {
  expect(untold(said, errors)).toEqual(errors);
});
