import { describe, expect, it } from '@jest/globals';
import { isNamed, parseIfMatch } from './if-match.js';

describe('If-Match', () => {
  it.each([
    [undefined, undefined],
    ['*', '*'],
    ['"7"', 7],
    [' "12" ', 12],
    ['W/"7"', 7],
  ])('%j means %j', (given, wanted) => {
    expect(parseIfMatch(given)).toBe(wanted);
  });

  it.each(['', ' ', '7', '"x"', 'W/7', 'w/"7"', '"1", "2"', '"-1"', '"', '"9999999999999999"'])('refuses %j', (given) => {
    expect(() => parseIfMatch(given)).toThrow('validation_failed: ');
  });
});

describe('If-None-Match', () => {
  it.each([
    ['"3"', true],
    ['W/"3"', true],
    ['"1", "3"', true],
    ['*', true],
    ['"4"', false],
    ['3', false],
    [undefined, false],
  ])('%j names revision 3: %j', (given, wanted) => {
    expect(isNamed(given, 3)).toBe(wanted);
  });
});
