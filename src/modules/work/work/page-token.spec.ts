import { describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import { formatPlace, parsePlace } from './page-token.js';

describe('page tokens of lists by creation', () => {
  it('come back as they went', () => {
    const place = { createdAt: '1763762400123456', id: 'al-17' };
    expect(parsePlace('bead', formatPlace('bead', place))).toEqual(place);
    expect(parsePlace('bead', undefined)).toBeUndefined();
  });

  it('are refused by other lists', () => {
    expect(() => parsePlace('mail', formatPlace('bead', { createdAt: '1', id: 'al-1' }))).toThrow('invalid_cursor: cursor is not a valid');
  });

  it('are refused when they are anything else', () => {
    fc.assert(
      fc.property(
        fc.oneof(
          fc.string(),
          fc.json().map((j) => `v1:${Buffer.from(j).toString('base64url')}`),
        ),
        (text) => {
          expect(() => parsePlace('bead', text)).toThrow(/^invalid_cursor: /);
        },
      ),
    );
  });
});
