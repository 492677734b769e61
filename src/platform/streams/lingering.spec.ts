import { describe, expect, it } from '@jest/globals';
import type { Channel } from './channel.js';
import { forgetAbandoned, MOST_IDLE, type Lingering } from './lingering.js';

function aGroup(size: number): Lingering & { retired: boolean } {
  const group = { channel: { size, retire: () => (group.retired = true) } as unknown as Channel, idleSince: undefined, retired: false };
  return group;
}

describe('groups that nobody reads', () => {
  // Guard: whoever asks for one filter after the other leaves few groups behind.
  it('are few: those that somebody has read last, beside all that somebody reads', () => {
    const groups = new Map(Array.from({ length: 100 }, (_, n) => [`${n}`, aGroup(n % 10 === 0 ? 1 : 0)]));
    const read = [...groups].filter(([, { channel }]) => channel.size > 0);
    const [first, ...others] = [...groups];
    groups.clear();
    for (const [key, group] of others.toReversed()) forgetAbandoned(groups.set(key, group), 1_000 + groups.size);
    groups.set(...first!);
    forgetAbandoned(groups, 10_000);
    expect([...groups].filter(([, { channel }]) => channel.size > 0)).toHaveLength(read.length);
    expect([...groups].filter(([, { channel }]) => channel.size === 0)).toHaveLength(MOST_IDLE);
    // They came from the last to the first.
    expect([groups.has('1'), groups.has('99')]).toEqual([true, false]);
    expect(others.filter(([, { retired }]) => retired)).toHaveLength(90 - MOST_IDLE);
  });

  // Guard: many that come back at once, to a replica or with new filters, would each find that nobody feeds their group any more.
  it('are all kept for a moment: those that are being opened, and those whose readers come back', () => {
    const groups = new Map(Array.from({ length: 100 }, (_, n) => [`${n}`, aGroup(0)]));
    forgetAbandoned(groups, 0);
    forgetAbandoned(groups, 5_000);
    expect(groups.size).toBe(100);
    forgetAbandoned(groups, 5_001);
    expect(groups.size).toBe(MOST_IDLE);
  });

  it('are forgotten after a while', () => {
    const groups = new Map([['a', aGroup(0)]]);
    forgetAbandoned(groups, 0);
    forgetAbandoned(groups, 30_000);
    expect(groups.size).toBe(1);
    forgetAbandoned(groups, 30_001);
    expect(groups.size).toBe(0);
  });
});
