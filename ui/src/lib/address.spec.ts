import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { parseSearch, stringifySearch, words } from './address.js';

describe('the address of a view', () => {
  it('has every text as it was typed', () => {
    for (const q of ['true', 'null', '1e3', '007', '{"a":1}', '"x"', 'a b', 'a+b&c=d#e', 'é ⟨'])
      expect(parseSearch(stringifySearch({ q }))).toEqual({ q });
    fc.assert(fc.property(fc.string({ minLength: 1, unit: 'grapheme' }), (q) => expect(parseSearch(stringifySearch({ q })).q).toBe(q)));
  });

  it('says nothing of what is not asked for, and knows nothing else', () => {
    expect(stringifySearch({ q: '', state: undefined })).toBe('');
    expect(words('q', 'state')(parseSearch('?q=&state=closed&other=1&__proto__=x'))).toEqual({ state: 'closed' });
  });
});
