import { describe, expect, it } from '@jest/globals';
import { limitsOf, RIGHTS } from './may.js';

describe('what a key is limited to', () => {
  it('is said by what it may, and where', () => {
    expect(limitsOf({ rights: [], cities: null })).toBe('reads only');
    expect(limitsOf({ rights: ['operate'], cities: ['harbor', 'quay'] })).toBe('may operate in harbor, quay');
    expect(limitsOf({ rights: RIGHTS, cities: ['harbor'] })).toBe('in harbor');
    expect(limitsOf({ rights: RIGHTS, cities: [] })).toBe('in no city');
  });

  it('is nothing for one that may all', () => {
    expect(limitsOf({ rights: RIGHTS, cities: null })).toBeUndefined();
  });
});
