import { describe, expect, it } from '@jest/globals';
import { CronExpressionParser } from 'cron-parser';
import fc from 'fast-check';
import { DEEP } from '../../../../../test/support/depth.js';
import { readSchedule } from './cron.js';

describe('any schedule', () => {
  const field = (from: number, to: number): fc.Arbitrary<string> => {
    const value = fc.integer({ min: from, max: to });
    const range = fc.tuple(value, value).map(([a, b]) => `${Math.min(a, b)}-${Math.max(a, b)}`);
    const step = fc.integer({ min: 1, max: 9 });
    const part = fc.oneof(
      value.map(String),
      range,
      fc.tuple(range, step).map(([each, by]) => `${each}/${by}`),
      step.map((by) => `*/${by}`),
    );
    return fc.oneof(
      fc.constant('*'),
      fc.array(part, { minLength: 1, maxLength: 3 }).map((parts) => parts.join(',')),
    );
  };

  it('comes when the library says of the date and of the day of the week that both fit', () => {
    const fields = fc.tuple(field(0, 59), field(0, 23), field(1, 31), field(1, 12), field(0, 7));
    const moment = fc.integer({ min: Date.UTC(2020, 0), max: Date.UTC(2110, 0) });
    fc.assert(
      fc.property(fields, moment, ([minute, hour, day, month, weekday], from) => {
        const schedule = readSchedule([minute, hour, day, month, weekday].join(' '));
        fc.pre(typeof schedule !== 'string');
        const dated = CronExpressionParser.parse(`${minute} ${hour} ${day} ${month} *`, { tz: 'UTC', currentDate: new Date(from) });
        const weekly = CronExpressionParser.parse(`* * * * ${weekday}`, { tz: 'UTC' });
        let found = dated.next().toDate();
        while (!weekly.includesDate(found)) {
          dated.reset(new Date(found.setUTCHours(23, 59, 59)));
          found = dated.next().toDate();
        }
        expect(schedule.next(new Date(from))).toEqual(found);
      }),
      { numRuns: DEEP ? 20_000 : 300 },
    );
  });
});
