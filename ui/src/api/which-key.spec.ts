import { describe, expect, it } from '@jest/globals';
import { beginsWith, isAnother, strangeIn } from './which-key.js';

describe('the key of a page', () => {
  it('is that of other pages before one that was remembered, and a link gives none in the place of either', () => {
    expect(beginsWith('shared', 'remembered', 'given')).toBe('shared');
    expect(beginsWith(null, 'remembered', 'given')).toBe('remembered');
    expect(beginsWith(null, null, 'given')).toBe('given');
    expect(beginsWith(null, null, null)).toBeNull();
  });

  it('has no character that cannot be sent', () => {
    expect(['svc_aB-9~!', 'a\u200bb', 'a b', '“key”', 'k\u{1f511}', 'kéy', 'a\x7f'].map(strangeIn)).toEqual([
      undefined,
      'U+200B',
      'U+0020',
      'U+201C',
      'U+1F511',
      'U+00E9',
      'U+007F',
    ]);
    expect(beginsWith('sh\u200bared', 'sto\u00a0red', 'given')).toBe('given');
    expect(beginsWith(null, 'sto\u200bred', null)).toBeNull();
  });

  it('is not forgotten because a worker has none yet, but when somebody has signed out', () => {
    expect(isAnother('mine', null, true)).toBe(false);
    expect(isAnother('mine', null, false)).toBe(true);
    expect(isAnother('mine', 'theirs', true)).toBe(true);
    expect(isAnother('mine', 'mine', false)).toBe(false);
  });
});
