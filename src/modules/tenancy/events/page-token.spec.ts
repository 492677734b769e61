import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { PositionSeal } from '../../../platform/streams/position-seal.js';
import { SupervisorEventsQuery } from './events.schemas.js';
import { formatFeedToken, formatToken, parseFeedToken, parseToken, type CityToken, type FeedToken } from './page-token.js';

const positive = fc.integer({ min: 1, max: Number.MAX_SAFE_INTEGER });
const cityTokens: fc.Arbitrary<CityToken> = fc.record({ k: fc.constantFrom('sq' as const, 'sa' as const), s: positive });
const feedTokens: fc.Arbitrary<FeedToken> = fc.oneof(
  fc.record({ k: fc.constant('tq' as const), s: positive, t: positive, i: fc.integer({ min: 1, max: 2 ** 31 - 1 }) }),
  fc.record({ k: fc.constant('sv' as const), p: fc.string() }),
);
const seal = new PositionSeal(Buffer.alloc(32, 1));
const other = new PositionSeal(Buffer.alloc(32, 2));

describe('page tokens of a city', () => {
  it('come back as they went', () => {
    fc.assert(fc.property(cityTokens, (token) => expect(parseToken(formatToken(token), ['sq', 'sa'])).toEqual(token)));
  });

  it('have the form that clients know', () => {
    expect(formatToken({ k: 'sq', s: 7 })).toBe(`v1:${Buffer.from('{"k":"sq","s":7}').toString('base64url')}`);
    expect(parseToken(undefined, ['sq'])).toBeUndefined();
  });

  it('are refused when they are anything else', () => {
    const refused = (text: string): void => expect(() => parseToken(text, ['sq'])).toThrow(/^invalid_cursor: /);
    fc.assert(fc.property(fc.string(), refused));
    fc.assert(fc.property(fc.json(), (json) => refused(`v1:${Buffer.from(json).toString('base64url')}`)));
    fc.assert(fc.property(feedTokens, (token) => refused(formatFeedToken(token, seal))));
    refused(formatToken({ k: 'sa', s: 1 }));
    refused(formatToken({ k: 'sq', s: 0 }));
    refused(`${formatToken({ k: 'sq', s: 1 })}=`);
  });
});

describe('page tokens of the supervisor', () => {
  // Guard: a walk over many cities would end at a token that is refused.
  it.each([3_000, 10_000])('are taken also where they name %i cities', (cities) => {
    const p = Array.from({ length: cities }, (_, n) => `${'city'.padEnd(50, '-')}${n}:${10 ** 6 + n}`).join();
    const cursor = formatFeedToken({ k: 'sv', p }, seal);
    expect(parseFeedToken(SupervisorEventsQuery.parse({ cursor }).cursor!, ['sv'], seal)).toEqual({ k: 'sv', p });
  });

  it('come back as they went, at every replica, and tell nothing', () => {
    const replica = new PositionSeal(Buffer.alloc(32, 1));
    fc.assert(
      fc.property(feedTokens, (token) => {
        const text = formatFeedToken(token, seal);
        expect(parseFeedToken(text, ['tq', 'sv'], replica)).toEqual(token);
        expect(Buffer.from(text.slice(3), 'base64url').toString('latin1')).not.toContain('"k":');
      }),
    );
  });

  // Guard: a page token of the supervisor is one that was handed out.
  it('are refused when somebody made them up or changed them', () => {
    const refused = (text: string): void => expect(() => parseFeedToken(text, ['tq'], seal)).toThrow(/^invalid_cursor: /);
    fc.assert(fc.property(fc.string(), refused));
    fc.assert(fc.property(feedTokens, (token) => refused(`v1:${Buffer.from(JSON.stringify(token)).toString('base64url')}`)));
    fc.assert(fc.property(feedTokens, (token) => refused(formatFeedToken(token, other))));
    refused(formatFeedToken({ k: 'sv', p: '__supervisor__:1' }, seal));
    const good = formatFeedToken({ k: 'tq', t: 5, i: 3, s: 7 }, seal);
    for (let at = 3; at < good.length; at++) refused(good.slice(0, at) + (good[at] === 'A' ? 'B' : 'A') + good.slice(at + 1));
    refused(`${good}=`);
  });
});
