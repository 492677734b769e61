import { describe, expect, it } from '@jest/globals';
import type { CityConfig } from '../../files/composition/city-config.js';
import { levelOf } from '../../../platform/disk/disk.js';
import { maintenanceSettings, nextAfter, nextAfterEnd } from './settings.js';
import { bloatOf } from './store-look.js';

const HOUR = 3_600_000;
const config = (tables: object): CityConfig => tables as unknown as CityConfig;
const WEEKLY = { intervalMs: 168 * HOUR, timeoutMs: 60_000 };

describe('what a city says of its maintenance', () => {
  it('is nothing unless it is enabled', () => {
    for (const tables of [
      {},
      { maintenance: {} },
      { maintenance: { dolt: { interval: '1h' } } },
      { maintenance: { dolt: { enabled: false } } },
    ])
      expect(maintenanceSettings(config(tables))).toBeUndefined();
  });

  it('has the documented defaults', () => {
    expect(maintenanceSettings(config({ maintenance: { dolt: { enabled: true } } }))).toEqual({
      intervalMs: 168 * HOUR,
      timeoutMs: 600_000,
    });
  });

  it('keeps runs for ever unless both of their times are given, and sessions at least as long as usage counts them', () => {
    const dolt = { enabled: true, interval: '1s', alert_to: ' mayor ' };
    expect(maintenanceSettings(config({ maintenance: { dolt, closed_session_ttl: '1h' }, daemon: { wisp_ttl: '24h' } }))).toEqual({
      intervalMs: 60_000,
      timeoutMs: 600_000,
      alertTo: 'mayor',
      sessionsMs: 48 * HOUR,
    });
    const daemon = { wisp_ttl: '24h', wisp_gc_interval: '1h' };
    expect(maintenanceSettings(config({ maintenance: { dolt }, daemon }))).toMatchObject({ runsMs: 24 * HOUR });
  });
});

describe('the next cycle', () => {
  const now = new Date('2030-01-15T00:00:00Z');
  const ago = (hours: number): Date => new Date(now.getTime() - hours * HOUR);
  const hours = (at: Date): number => (at.getTime() - now.getTime()) / HOUR;

  it('comes at once when there was none, or none for half an interval too long', () => {
    expect(nextAfter(WEEKLY, undefined, now)).toEqual(now);
    expect(nextAfter(WEEKLY, ago(253), now)).toEqual(now);
  });

  it('comes an interval after the last one, a tenth sooner or later', () => {
    expect([0, 0.5, 1].map((random) => Math.round(hours(nextAfter(WEEKLY, ago(100), now, random)) * 10) / 10)).toEqual([51.2, 68, 84.8]);
    expect(nextAfter(WEEKLY, ago(200), now, 0)).toEqual(now);
  });

  it('comes within the hour after a failure', () => {
    expect([0, 1].map((random) => hours(nextAfterEnd(WEEKLY, true, now, random)))).toEqual([0.9, 1.1]);
    expect(Math.round(hours(nextAfterEnd(WEEKLY, false, now, 0.5)))).toBe(168);
  });
});

describe('a disk', () => {
  const limits = { warn: 1_000, floor: 100 };

  it('is worse as soon as there is less room than a limit, and better when there is a tenth more', () => {
    expect([1_000, 999, 100, 99].map((free) => levelOf(free, 'ok', limits))).toEqual(['ok', 'warn', 'warn', 'critical']);
    expect([1_000, 1_099, 1_100].map((free) => levelOf(free, 'warn', limits))).toEqual(['warn', 'warn', 'ok']);
    expect([100, 109, 111, 1_100].map((free) => levelOf(free, 'critical', limits))).toEqual(['critical', 'critical', 'warn', 'ok']);
  });
});

describe('a table', () => {
  const table = { name: 'beads', live: 10_000, dead: 10_000, changed: 0, vacuumed: null, stale: false };

  it('is worth a word when many of its rows are dead', () => {
    expect(bloatOf(table)).toEqual(['beads: 50 % of its rows are dead; it was never cleaned']);
    expect(bloatOf({ ...table, vacuumed: new Date(0) })).toEqual([
      'beads: 50 % of its rows are dead; it was cleaned last at 1970-01-01T00:00:00.000Z',
    ]);
    expect(bloatOf({ ...table, dead: 9_999 })).toEqual([]);
    expect(bloatOf({ ...table, live: 1_000_000 })).toEqual([]);
  });
});
