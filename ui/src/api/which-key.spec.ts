import { describe, expect, it } from '@jest/globals';
import { beginsWith, isAnother } from './which-key.js';

describe('the key of a page', () => {
  it('is that of other pages before one that was remembered, and a link gives none in the place of either', () => {
    expect(beginsWith('shared', 'remembered', 'given')).toBe('shared');
    expect(beginsWith(null, 'remembered', 'given')).toBe('remembered');
    expect(beginsWith(null, null, 'given')).toBe('given');
    expect(beginsWith(null, null, null)).toBeNull();
  });

  it('is not forgotten because a worker has none yet, but when somebody has signed out', () => {
    expect(isAnother('mine', null, true)).toBe(false);
    expect(isAnother('mine', null, false)).toBe(true);
    expect(isAnother('mine', 'theirs', true)).toBe(true);
    expect(isAnother('mine', 'mine', false)).toBe(false);
  });
});
