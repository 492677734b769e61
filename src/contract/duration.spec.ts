import { describe, expect, it } from '@jest/globals';
import { formatDuration, parseDuration } from './duration.js';

describe('durations', () => {
  it.each([
    ['5m', 300_000],
    ['1h30m', 5_400_000],
    ['1.5s', 1_500],
    ['-2s', -2_000],
    ['+250ms', 250],
    ['.5h', 1_800_000],
    ['10us', 0.01],
    ['1µs', 0.001],
    ['7d', 604_800_000],
    ['1d12h', 129_600_000],
    ['0', 0],
    ['0s', 0],
  ])('reads %s', (text, ms) => expect(parseDuration(text)).toBeCloseTo(ms));

  it.each([
    '',
    '5',
    'm',
    '5 m',
    '1D',
    '5m3',
    'five',
    '1h ',
    '1h-3m',
    '--1s',
    '.s',
    '1w',
    '9999999999h',
    '110000d',
    `${'1'.repeat(64)}s`,
    '-',
    '1..5s',
  ])('refuses "%s"', (text) => expect(parseDuration(text)).toBeUndefined());

  it.each([
    [0, '0s'],
    [250, '0.25s'],
    [60_000, '1m'],
    [5_400_000, '1h30m'],
    [720 * 3_600_000 + 1_500, '720h1.5s'],
  ])('writes %d ms as %s, and reads it again', (ms, text) => {
    expect(formatDuration(ms)).toBe(text);
    expect(parseDuration(text)).toBe(ms);
  });
});
