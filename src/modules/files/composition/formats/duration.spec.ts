import { describe, expect, it } from '@jest/globals';
import { parseDuration } from './duration.js';

describe('durations', () => {
  it.each([
    ['90s', 90_000],
    ['1h30m', 5_400_000],
    ['500ms', 500],
    ['1.5h', 5_400_000],
    ['.5s', 500],
    ['1us', 0.001],
    ['1µs', 0.001],
    ['-2m', -120_000],
    ['+2m', 120_000],
    ['0', 0],
    ['0s', 0],
  ])('reads %s', (text, ms) => {
    expect(parseDuration(text)).toBeCloseTo(ms, 9);
  });

  it.each(['', '5', 's', '1 s', '1d', '1h ', '--1s', '1s-1s', '.s', '9999999h', '1'.repeat(100) + 's', '1S'])('refuses %j', (text) => {
    expect(parseDuration(text)).toBeUndefined();
  });

  it('reads days where they are allowed', () => {
    expect(parseDuration('7d', { days: true })).toBe(604_800_000);
    expect(parseDuration('1d12h', { days: true })).toBe(129_600_000);
  });
});
