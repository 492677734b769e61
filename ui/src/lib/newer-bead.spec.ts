import { describe, expect, it } from '@jest/globals';
import type { Bead } from '../api/types.js';
import { newerOf } from './newer-bead.js';

const at = (revision: number): Bead => ({ id: 'b', revision }) as Bead;

describe('a bead that is open', () => {
  it('is the newer of two states, and after a gap the one that comes next', () => {
    const kept = newerOf({ bead: undefined, doubted: false }, at(6));
    expect(newerOf(kept, at(5)).bead).toEqual(at(6));
    const read = newerOf({ ...kept, doubted: true }, at(5));
    expect(read).toEqual({ bead: at(5), doubted: false });
    expect(newerOf(read, at(4)).bead).toEqual(at(5));
  });
});
