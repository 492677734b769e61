import { describe, expect, it } from '@jest/globals';
import { isStillThere } from './still-there.js';

describe('who has asked for something', () => {
  it('is still there in the same view, unless something else is written in it', () => {
    const there = (address: string, shown: boolean, writing: boolean): boolean => isStillThere('/a?new=1', { address, shown, writing });
    expect([there('/a?new=1', true, true), there('/a?new=1', true, false), there('/a?new=1', false, false)]).toEqual([true, true, true]);
    expect([there('/a', true, false), there('/b?new=1', true, false), there('/a?new=1', false, true)]).toEqual([false, false, false]);
  });
});
