import { expect, it } from '@jest/globals';
import { RefusedStarts } from './refused-starts.js';

it('a session that could not be made is told of loudly once for each reason', () => {
  const refused = new RefusedStarts();
  const levels = (...told: readonly (readonly [string, string, string])[]): readonly string[] => told.map((one) => refused.level(...one));
  expect(levels(['a', 'web/watch', 'taken'], ['a', 'web/watch', 'taken'], ['b', 'web/watch', 'taken'])).toEqual(['warn', 'debug', 'warn']);
  expect(levels(['a', 'web/watch', 'unknown'], ['a', 'web/watch', 'unknown'])).toEqual(['warn', 'debug']);
});

it('no more of them are kept than a thousand', () => {
  const refused = new RefusedStarts();
  for (let n = 0; n < 1_000; n++) refused.level('a', `s-${n}`, 'taken');
  expect([refused.level('a', 's-0', 'taken'), refused.level('a', 's-new', 'taken'), refused.level('a', 's-0', 'taken')]).toEqual([
    'debug',
    'warn',
    'warn',
  ]);
});
