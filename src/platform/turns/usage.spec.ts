import { describe, expect, it } from '@jest/globals';
import { Usage } from './usage.js';

describe('Usage', () => {
  const used = (amounts: Readonly<Record<string, number>>): { usage: Usage; clock: { now: number }; much: () => string[] } => {
    const clock = { now: 0 };
    const usage = new Usage(() => clock.now);
    const all = (): string[] => Object.keys(amounts).filter((owner) => usage.isMuch(owner));
    for (const [owner, ms] of Object.entries(amounts)) usage.add(owner, ms);
    return { usage, clock, much: all };
  };

  it('is much when it is more than that of others on average, and half of the most or more', () => {
    expect(used({ flood: 900, calm: 600 }).much()).toEqual(['flood']);
    expect(used({ one: 500, other: 500 }).much()).toEqual(['one', 'other']);
    expect(used({ flood: 1_000, half: 500, less: 499, calm: 1, quiet: 1 }).much()).toEqual(['flood', 'half']);
  });

  it('is much of whoever is alone, and of nobody who has used nothing while others have', () => {
    const { usage } = used({});
    expect(usage.isMuch('first')).toBe(true);
    usage.add('first', 1);
    expect([usage.isMuch('first'), usage.isMuch('new')]).toEqual([true, false]);
  });

  it('counts less and less, and is forgotten after two windows', () => {
    const { usage, clock } = used({ flood: 1_000 });
    clock.now = 5_000;
    usage.add('calm', 600);
    expect([usage.isMuch('flood'), usage.isMuch('calm')]).toEqual([true, false]);
    clock.now = 7_500; // half of the thousand counts
    expect([usage.isMuch('flood'), usage.isMuch('calm')]).toEqual([false, true]);
    clock.now = 15_000;
    expect([usage.isMuch('flood'), usage.isMuch('calm')]).toEqual([true, true]);
  });
});
