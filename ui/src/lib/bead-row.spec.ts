import { describe, expect, it } from '@jest/globals';
import type { Bead } from '../api/types.js';
import { rowOf, wholeOf } from './bead-row.js';

const bead = (more: object = {}): Bead => ({ id: 'b-1', title: 'One', revision: 3, ...more }) as unknown as Bead;

describe('a row of a list of beads', () => {
  it('has neither description nor metadata, and says whether there is one', () => {
    expect(rowOf(bead({ description: 'long', metadata: { a: 'b' } }))).toEqual(bead({ has_description: true }));
    expect(rowOf(bead({ metadata: { a: 'b' } }))).toEqual(bead({ has_description: false }));
    const short = bead({ has_description: true });
    expect(rowOf(short)).toBe(short);
  });

  it('is the bead where that says no more', () => {
    const [plain, described] = [bead({ has_description: false }), bead({ has_description: true })];
    expect([wholeOf(plain), wholeOf(described), wholeOf(undefined)]).toEqual([plain, undefined, undefined]);
  });
});
