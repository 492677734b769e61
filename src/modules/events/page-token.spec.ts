import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { formatToken, parseToken, type PageToken } from './page-token.js';

const KINDS = ['sq', 'sa', 'tq', 'sv'] as const;
const positive = fc.integer({ min: 1, max: Number.MAX_SAFE_INTEGER });
const tokens: fc.Arbitrary<PageToken> = fc.oneof(
  fc.record({ k: fc.constantFrom('sq' as const, 'sa' as const), s: positive }),
  fc.record({ k: fc.constant('tq' as const), s: positive, t: positive, i: fc.integer({ min: 1, max: 2 ** 31 - 1 }) }),
  fc.record({ k: fc.constant('sv' as const), p: fc.string() }),
);

describe('page tokens', () => {
  it('come back as they went', () => {
    fc.assert(fc.property(tokens, (token) => expect(parseToken(formatToken(token), KINDS)).toEqual(token)));
  });

  it('have the form that clients know', () => {
    expect(formatToken({ k: 'sq', s: 7 })).toBe(`v1:${Buffer.from('{"k":"sq","s":7}').toString('base64url')}`);
    expect(parseToken(undefined, ['sq'])).toBeUndefined();
  });

  it('are refused when they are anything else', () => {
    const refused = (text: string): void => expect(() => parseToken(text, ['sq'])).toThrow(/^invalid_cursor: /);
    fc.assert(fc.property(fc.string(), refused));
    fc.assert(fc.property(fc.json(), (json) => refused(`v1:${Buffer.from(json).toString('base64url')}`)));
    fc.assert(
      fc.property(
        tokens.filter((t) => t.k !== 'sq'),
        (token) => refused(formatToken(token)),
      ),
    );
    refused(formatToken({ k: 'sq', s: 0 }));
    refused(`${formatToken({ k: 'sq', s: 1 })}=`);
  });
});
