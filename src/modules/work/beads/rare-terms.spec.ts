import { expect, it } from '@jest/globals';
import { RareTerms } from './rare-terms.js';

it('knows what is rare in which city, until it is not', () => {
  const rare = new RareTerms();
  rare.note(1, ['la', 'mb'], true);
  expect([rare.has(1, ['la', 'mb']), rare.has(2, ['la', 'mb']), rare.has(1, ['la'])]).toEqual([true, false, false]);
  rare.note(1, ['la', 'mb'], false);
  expect(rare.has(1, ['la', 'mb'])).toBe(false);
});

it('forgets what it has known for longest', () => {
  const rare = new RareTerms();
  for (let n = 0; n <= 1_000; n++) {
    rare.note(n, ['l'], true);
    rare.note(0, ['l'], true);
  }
  expect([0, 1, 2, 1_000].map((n) => rare.has(n, ['l']))).toEqual([true, false, true, true]);
});
