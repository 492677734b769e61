import { describe, expect, it } from '@jest/globals';
import { ServiceClock } from './service-clock.js';

const NOON = Date.parse('2026-11-30T12:00:00Z');
const dateOf = (at: number): string => new Date(at).toUTCString();

describe('the clock of the service', () => {
  // Guard: what the service has written is as old as by its own clock.
  it('counts, and not one of a browser that is minutes off', () => {
    for (const off of [-10 * 60_000, 90 * 60_000]) {
      let now = NOON + off;
      const clock = new ServiceClock(() => now);
      const askedAt = now;
      now += 200;
      clock.heard(dateOf(NOON), askedAt);
      expect(Math.abs(clock.now() - NOON)).toBeLessThanOrEqual(1_200);
      now += 60_000;
      expect(Math.abs(clock.now() - NOON - 60_000)).toBeLessThanOrEqual(1_200);
    }
  });

  it('is that of a browser that may be right, also after slow answers', () => {
    let now = NOON + 700;
    const clock = new ServiceClock(() => now);
    for (const took of [0, 300, 20_000, 5]) {
      const askedAt = now;
      now += took;
      clock.heard(dateOf(askedAt), askedAt);
      expect(clock.now()).toBe(now);
    }
  });

  it('is believed again once somebody has set the clock of the browser', () => {
    let now = NOON + 3_600_000;
    const clock = new ServiceClock(() => now);
    clock.heard(dateOf(NOON), now);
    // It was set while an answer was on its way, which tells nothing.
    const askedAt = now;
    now = NOON + 60_000;
    const before = clock.now() - now;
    clock.heard(dateOf(now), askedAt);
    expect(clock.now() - now).toBe(before);
    clock.heard(dateOf(now), now);
    expect(Math.abs(clock.now() - now)).toBeLessThanOrEqual(1_000);
  });

  it('is that of the browser where no answer tells one', () => {
    const clock = new ServiceClock(() => NOON);
    clock.heard(null, NOON);
    clock.heard('yesterday', NOON);
    expect(clock.now()).toBe(NOON);
  });
});
