import { expect, it } from '@jest/globals';
import { shareOfCounts } from './share-of-counts.js';

// Guard: a total beside many cities that are silent is no less than what stands on its page.
it.each([
  { sizes: [], most: 10, each: 10 },
  { sizes: [3, 7], most: 10, each: 10 },
  { sizes: [0, 0, 0, 100], most: 10, each: 10 },
  { sizes: [-2, 1, 100, 100], most: 11, each: 5 },
  { sizes: [100, 2, 100], most: 10, each: 4 },
  { sizes: [5, 5, 5], most: 2, each: 1 },
])('of streams of $sizes events $each each are counted, where $most are together', ({ sizes, most, each }) => {
  expect(shareOfCounts(sizes, most)).toBe(each);
});
