import { describe, expect, it } from '@jest/globals';
import { counted } from './counted.js';

describe('so many of a kind', () => {
  it('is said as one and as many', () => {
    expect([0, 1, 2].map((n) => counted(n, 'bead'))).toEqual(['0 beads', '1 bead', '2 beads']);
    expect(counted(1, 'patch', 'patches')).toBe('1 patch');
    expect(counted(3, 'patch', 'patches')).toBe('3 patches');
  });
});
