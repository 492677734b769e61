import { describe, expect, it } from '@jest/globals';
import { ANYBODY, type Principal } from '../../contract/principal.js';
import type { ProblemError } from '../../contract/problems.js';
import { RateLimits, StreamLimits } from './rate-limits.js';

const OFF = { perSecond: 0, burst: 1 };
const limited = (keyId: string, ...cities: string[]): Principal => ({ actor: keyId, keyId, scope: 'write', cities });
const told = (refused: ProblemError | undefined): unknown => refused && { detail: refused.detail, ...refused.headers };

describe('RateLimits', () => {
  let now = 0;
  const limits = (key: { perSecond: number; burst: number }, city = OFF): RateLimits => new RateLimits({ key, city }, () => now);
  const many = (rates: RateLimits, caller: Principal, city?: string, times = 10): number => {
    let n = 0;
    for (let i = 0; i < times; i++) if (rates.admit(caller, city) === undefined) n++;
    return n;
  };

  it('lets a burst through, then as many as are refilled, and says when to come back', () => {
    const rates = limits({ perSecond: 2, burst: 5 });
    expect(many(rates, ANYBODY)).toBe(5);
    expect(told(rates.admit(ANYBODY, undefined))).toEqual({
      detail: 'rate_limited: too many requests of this key: 5 requests at once, 2 a second in the long run',
      'retry-after': '1',
      'ratelimit-policy': '"key";q=5;w=3',
      ratelimit: '"key";r=0;t=1',
    });
    now += 499;
    expect(many(rates, ANYBODY)).toBe(0);
    now += 1;
    expect(many(rates, ANYBODY)).toBe(1);
    now += 1_000;
    expect(many(rates, ANYBODY)).toBe(2);
    now += 3_600_000;
    expect(many(rates, ANYBODY)).toBe(5);
  });

  it('counts each key apart, those without one together', () => {
    const rates = limits({ perSecond: 1, burst: 2 });
    expect([many(rates, limited('a')), many(rates, limited('b')), many(rates, ANYBODY), many(rates, ANYBODY)]).toEqual([2, 2, 2, 0]);
  });

  it('counts the keys of a city together, and neither those that may not see it nor those that see all', () => {
    const rates = limits(OFF, { perSecond: 1, burst: 3 });
    expect(many(rates, limited('stranger', 'other'), 'one')).toBe(10);
    expect(many(rates, limited('a', 'one', 'two'), 'one', 2)).toBe(2);
    expect(many(rates, limited('b', 'one'), 'one')).toBe(1);
    expect(told(rates.admit(limited('b', 'one'), 'one'))).toMatchObject({ 'ratelimit-policy': '"city";q=3;w=3' });
    expect(many(rates, limited('a', 'one', 'two'), 'two')).toBe(3);
    expect(many(rates, limited('b', 'one'))).toBe(10);
    expect(many(rates, { ...ANYBODY, keyId: 'operator' }, 'one')).toBe(10);
  });

  it('remembers who calls, however many names there are', () => {
    const rates = limits({ perSecond: 1, burst: 1 });
    expect(many(rates, ANYBODY)).toBe(1);
    for (let n = 0; n < 30_000; n++) {
      rates.admit(limited(`k${n}`), undefined);
      if (n % 5_000 === 0) {
        now += 1_000;
        expect(many(rates, ANYBODY)).toBe(1);
      }
    }
    expect(many(rates, ANYBODY)).toBe(0);
  });
});

describe('StreamLimits', () => {
  it('counts streams until they are closed, by key and by city', () => {
    const streams = new StreamLimits({ key: 2, city: 3 });
    const closing: (() => void)[] = [];
    const open = (caller: Principal, city?: string): unknown => told(streams.admit(caller, city, (leave) => closing.push(leave)));
    expect([open(limited('a', 'one'), 'one'), open(limited('a', 'one'), 'one')]).toEqual([undefined, undefined]);
    expect(open(limited('a', 'one'), 'one')).toEqual({
      detail: 'rate_limited: too many requests of this key: 2 streams open at once, reads that wait among them',
      'retry-after': '5',
      'ratelimit-policy': '"key";q=2;qu="concurrent-requests"',
      ratelimit: '"key";r=0;t=5',
    });
    expect(open(limited('b', 'one'), 'one')).toBeUndefined();
    expect(open(limited('c', 'one'), 'one')).toMatchObject({ ratelimit: '"city";r=0;t=5' });
    expect([open(limited('d', 'two'), 'one'), open(ANYBODY, 'one')]).toEqual([undefined, undefined]);
    closing[0]!();
    expect(open(limited('c', 'one'), 'one')).toBeUndefined();
    expect(open(limited('c', 'one'), 'one')).toBeDefined();
  });

  it("counts the supervisor's streams for the city of a caller that has only one", () => {
    const streams = new StreamLimits({ key: 5, city: 2 });
    const open = (caller: Principal, city?: string): unknown => told(streams.admit(caller, city, () => undefined));
    expect([open(limited('a', 'one')), open(limited('b', 'one'), 'one')]).toEqual([undefined, undefined]);
    expect(open(limited('c', 'one'))).toMatchObject({ ratelimit: '"city";r=0;t=5' });
    expect(open(limited('d', 'one'), 'one')).toMatchObject({ ratelimit: '"city";r=0;t=5' });
    expect([open(limited('e', 'two')), open(limited('f', 'one', 'two')), open(ANYBODY)]).toEqual([undefined, undefined, undefined]);
  });
});
