import { describe, expect, it } from '@jest/globals';
import { doubled } from './doubled.js';

describe('pauses after failures', () => {
  it('are twice as long each time, up to a limit, however many there are', () => {
    expect([0, 1, 2, 3, 4, 5, 100_000].map((failures) => doubled(failures, 10, 75))).toEqual([10, 10, 20, 40, 75, 75, 75]);
  });
});
