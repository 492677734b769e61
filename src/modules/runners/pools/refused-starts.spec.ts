import { expect, it } from '@jest/globals';
import { RefusedStarts } from './refused-starts.js';

it('a session that could not be made is told of loudly once for each reason', () => {
  const refused = new RefusedStarts();
  const levels = (...told: readonly (readonly [string, string, string])[]): readonly string[] => told.map((one) => refused.level(...one));
  expect(levels(['a', 'web/watch', 'taken'], ['a', 'web/watch', 'taken'], ['b', 'web/watch', 'taken'])).toEqual(['warn', 'debug', 'warn']);
  expect(levels(['a', 'web/watch', 'unknown'], ['a', 'web/watch', 'unknown'])).toEqual(['warn', 'debug']);
});

it('it is told of again after an hour, and when one was made in between', () => {
  const refused = new RefusedStarts();
  const level = (now: number) => refused.level('a', 's', 'taken', now);
  expect([level(0), level(3_599_999), level(3_600_000), level(3_600_001)]).toEqual(['warn', 'debug', 'warn', 'debug']);
  refused.forget('a', 's');
  expect(level(3_600_002)).toBe('warn');
});

it('no more of them are told of loudly within an hour than a thousand', () => {
  const refused = new RefusedStarts();
  const loud = (now: number): number =>
    Array.from({ length: 1_500 }, (_, n) => refused.level('a', `s-${n}`, 'taken', now)).filter((level) => level === 'warn').length;
  expect([loud(0), loud(1_000), loud(3_600_000)]).toEqual([1_000, 0, 1_000]);
});
