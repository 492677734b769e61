import { describe, expect, it } from '@jest/globals';
import { blockedFor } from './due.js';

const NOW = new Date('2026-03-01T12:00:00Z');
const ago = (seconds: number): Date => new Date(NOW.getTime() - seconds * 1_000);
type Timed = Parameters<typeof blockedFor>[0];
const HOURLY = { trigger: 'cooldown', interval: 3_600_000 } as Timed;

describe('an order that must not be fired', () => {
  it('is left alone for longer the longer it waits, for two minutes at the most', () => {
    expect([0, 60, 120, 300, 600, 86_400].map((seconds) => blockedFor(HOURLY, ago(seconds), NOW) / 1_000)).toEqual([
      15, 15, 30, 75, 120, 120,
    ]);
  });

  // Guard: with its last slot still open as the next one comes, that one would be missed as well.
  it('is looked at soon when it makes up for nothing', () => {
    const cron = { trigger: 'cron', schedule: '0 12 * * *' } as Timed;
    expect([blockedFor({ ...cron, catch_up: 'none' }, ago(86_400), NOW), blockedFor(cron, ago(86_400), NOW)]).toEqual([15_000, 120_000]);
  });

  it('is looked at soon when nobody knows for how long it waits', () => {
    expect(blockedFor({ trigger: 'event' } as Timed, undefined, NOW)).toBe(15_000);
  });
});
