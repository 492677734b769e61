import { describe, expect, it } from '@jest/globals';
import { prefixOf } from '../prefix.js';
import { PREFIX, qualified, sorted } from './names.js';

describe('names', () => {
  it.each([
    ['storefront', 'st'],
    ['web', 'web'],
    ['a', 'a'],
    ['north-desk', 'nd'],
    ['north_desk-two', 'ndt'],
    ['frontDesk', 'fd'],
    ['tools-py', 'to'],
    ['north-desk-go', 'nd'],
    ['42-gates', 'g'],
    ['12', 'b'],
    ['ÄÖ-Ü', 'b'],
    ['a-b-c-d-e-f-g-h-i-j-k-l-m-n', 'abcdefghijkl'],
  ])('the prefix of %s is %s', (name, prefix) => {
    expect(prefixOf(name)).toBe(prefix);
    expect(prefix).toMatch(PREFIX);
  });

  it('qualifies by rig and binding', () => {
    expect(qualified('', '', 'a')).toBe('a');
    expect(qualified('mill', '', 'a')).toBe('mill/a');
    expect(qualified('mill', 'desk', 'a')).toBe('mill/desk.a');
  });

  it('sorts by code unit, whatever the locale', () => {
    expect(sorted(['b', 'a', 'B', 'ä'])).toEqual(['B', 'a', 'b', 'ä']);
  });
});
