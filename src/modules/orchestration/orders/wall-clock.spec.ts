import { afterEach, describe, expect, it, jest } from '@jest/globals';
import { timesAfter } from './wall-clock.js';

const next = (schedule: string, zone: string, from: string, count: number): string[] =>
  timesAfter(schedule, zone, new Date(from), count).map((at) => at.toISOString().slice(0, 16));

describe('the times of a schedule', () => {
  it.each([
    // The hour that is left out is made up for once, in the first minute that there is.
    ['30 2 * * *', 'Europe/Madrid', '2026-03-28T12:00Z', ['2026-03-29T01:00', '2026-03-30T00:30']],
    ['*/30 * * * *', 'Europe/Madrid', '2026-03-29T00:00Z', ['2026-03-29T00:30', '2026-03-29T01:00', '2026-03-29T01:30']],
    ['15 2 * * *', 'Australia/Lord_Howe', '2026-10-03T00:00Z', ['2026-10-03T15:30', '2026-10-04T15:15']],
    ['0 0 * * *', 'America/Santiago', '2026-09-05T12:00Z', ['2026-09-06T04:00', '2026-09-07T03:00']],
    // The hour that comes twice counts once.
    ['30 2 * * *', 'Europe/Madrid', '2026-10-24T12:00Z', ['2026-10-25T00:30', '2026-10-26T01:30']],
    ['30 2 * * *', 'Europe/Madrid', '2026-10-25T01:00Z', ['2026-10-26T01:30']],
    ['*/30 * * * *', 'Europe/Madrid', '2026-10-25T00:00Z', ['2026-10-25T00:30', '2026-10-25T02:00', '2026-10-25T02:30']],
    ['0 12 * * *', 'Asia/Kathmandu', '2026-01-01T00:00Z', ['2026-01-01T06:15']],
    ['0 9 * * 1-5', 'UTC', '2026-01-02T09:00Z', ['2026-01-05T09:00']],
  ])('%s in %s after %s', (schedule, zone, from, times) => {
    expect(next(schedule, zone, from, times.length)).toEqual(times);
  });

  it('are one a day for a whole year, whatever the clock does', () => {
    for (const zone of ['Europe/Madrid', 'America/Santiago', 'Australia/Lord_Howe', 'Africa/Cairo']) {
      const year = timesAfter('30 0 * * *', zone, new Date('2026-01-01T00:00Z'), 365);
      const days = year.map((at) => at.toLocaleDateString('en-CA', { timeZone: zone }));
      expect(new Set(days).size).toBe(365);
    }
  });
});

describe('what is kept of time zones', () => {
  afterEach(() => {
    jest.restoreAllMocks();
  });

  const at = new Date('2026-01-01T00:00Z');

  it('is one for all spellings of a name', () => {
    timesAfter('0 0 * * *', 'Pacific/Auckland', at);
    const made = jest.spyOn(Intl, 'DateTimeFormat');
    for (const zone of ['pacific/auckland', 'PACIFIC/AUCKLAND', 'pACIFIC/aUCKLAND'])
      expect(next('0 0 * * *', zone, at.toISOString(), 1)).toEqual(['2026-01-01T11:00']);
    expect(made).not.toHaveBeenCalled();
  });

  it('is no more than some', () => {
    timesAfter('0 0 * * *', '+00:01', at);
    for (let n = 100; n < 300; n++) timesAfter('0 0 * * *', `+0${Math.floor(n / 60)}:${String(n % 60).padStart(2, '0')}`, at);
    const made = jest.spyOn(Intl, 'DateTimeFormat');
    timesAfter('0 0 * * *', '+00:01', at);
    expect(made).toHaveBeenCalledTimes(1);
  });
});
