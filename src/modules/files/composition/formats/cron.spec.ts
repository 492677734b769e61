import { afterEach, describe, expect, it, jest } from '@jest/globals';
import { CronExpressionParser } from 'cron-parser';
import { readSchedule } from './cron.js';

function next(written: string, from: string, count: number): string[] | string {
  const schedule = readSchedule(written);
  if (typeof schedule === 'string') return schedule;
  const times: string[] = [];
  for (let at: Date | undefined = new Date(from); times.length < count;) {
    at = schedule.next(at);
    if (at === undefined) return times;
    times.push(at.toISOString().slice(0, 16));
  }
  return times;
}

describe('a schedule', () => {
  it.each([
    ['30 2 * * 1-5', ['2026-01-01T02:30', '2026-01-02T02:30', '2026-01-05T02:30']],
    ['0 0 * * 7', ['2026-01-04T00:00', '2026-01-11T00:00']],
    ['0 0 * * SUN', ['2026-01-04T00:00', '2026-01-11T00:00']],
    ['0 0 * * fri-sat', ['2026-01-02T00:00', '2026-01-03T00:00']],
    ['5-59/20 0 1 JAN,mar *', ['2026-01-01T00:05', '2026-01-01T00:25']],
    ['  0   */6 * * * ', ['2026-01-01T06:00', '2026-01-01T12:00']],
    ['0 0 29 2 *', ['2028-02-29T00:00', '2032-02-29T00:00']],
    // Both days have to fit: the first Monday of a month, and Friday the 13th.
    ['0 9 1-7 * 1', ['2026-01-05T09:00', '2026-02-02T09:00']],
    ['0 0 13 * 5', ['2026-02-13T00:00', '2026-03-13T00:00']],
    ['0 0 29 2 1', ['2044-02-29T00:00']],
    ['0 0 31 1,4 7', ['2027-01-31T00:00']],
    ['*/40 22,23 1 1 4', ['2026-01-01T22:00', '2026-01-01T22:40', '2026-01-01T23:00', '2026-01-01T23:40', '2032-01-01T22:00']],
  ])('%s', (written, times) => {
    expect(next(written, '2026-01-01T00:00:00Z', times.length)).toEqual(times);
  });

  it.each([
    ['', 'has 0'],
    ['* * * *', 'has 4'],
    ['0 0 * * * *', 'has 6'],
    ['@daily', 'has 1'],
    ['60 * * * *', 'cannot be read'],
    ['0 24 * * *', 'cannot be read'],
    ['0 0 * * 8', 'cannot be read'],
    ['0 0 * 13 *', 'cannot be read'],
    ['5-1 * * * *', 'cannot be read'],
    ['*/0 * * * *', 'cannot be read'],
    ['0 0 L * *', 'day of the month'],
    ['0 0 ? * *', 'day of the month'],
    ['H 0 * * *', 'minute'],
    ['0 0 * * 5#2', 'day of the week'],
    ['0 0 31 4 1', 'cannot be read'],
    ['0 0 31 4,6 *', 'never comes'],
    ['0 0 31 2,4,6,9,11 0-6', 'never comes'],
    ['0 0 30,31 2 *', 'cannot be read'],
    ['1,,2 0 * * *', 'minute'],
    ['-1 0 * * *', 'minute'],
    ['1.5 0 * * *', 'minute'],
    ['0 0 30 2 *', 'cannot be read'],
    ['0 0 30 2 1', 'cannot be read'],
    [`${'1,'.repeat(300)}1 * * * *`, 'longer than'],
  ])('is refused: %s', (written, why) => {
    expect(next(written, '2026-01-01T00:00:00Z', 1)).toContain(why);
  });
});

describe('the work for a schedule', () => {
  afterEach(() => {
    jest.restoreAllMocks();
  });

  it('is to read it once, however often it is asked for', () => {
    const parse = jest.spyOn(CronExpressionParser, 'parse');
    for (let n = 0; n < 100; n++) expect(next('7 7 29 2 3', '2026-01-01T00:00:00Z', 5)).toHaveLength(5);
    expect(parse.mock.calls.length).toBeLessThanOrEqual(2);
  });

  it('is little where no day ever fits', () => {
    for (let n = 0; n < 1_440; n++) expect(readSchedule(`${n % 60} ${Math.floor(n / 60)} 31 2,4,6,9,11 0-6`)).toContain('never comes');
  });

  it('is little where a day is rare', () => {
    for (let n = 0; n < 1_440; n++) expect(next(`${n % 60} ${Math.floor(n / 60)} 29 2 1`, '2072-03-01T00:00:00Z', 1)).toHaveLength(1);
  });
});
