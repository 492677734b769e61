import { describe, expect, it } from '@jest/globals';
import { restAfter } from './rest.js';

describe('the rest of a city after a turn', () => {
  // Guard: its other writers have it half of the time.
  it('is as long as the turn, neither nothing nor more than a second', () => {
    expect([0, 300, 5_000].map(restAfter)).toEqual([50, 300, 1_000]);
  });
});
