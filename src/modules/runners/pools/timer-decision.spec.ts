import { describe, expect, it } from '@jest/globals';
import { BLOCKERS, timerDecision, type Blocker, type TimerFacts } from './timer-decision.js';

const NOW = 10_000_000;
const facts = (more: Partial<TimerFacts> = {}): TimerFacts => ({
  now: NOW,
  running: true,
  inTurn: false,
  activityAt: NOW - 1_000,
  outputAt: undefined,
  readyAt: NOW - 5_000,
  blockers: new Set(),
  idleMs: undefined,
  maxAgeMs: undefined,
  deferMs: undefined,
  stallMs: undefined,
  holderStallMs: undefined,
  ...more,
});
const IDLE = { idleMs: 500 };
const AGED = { maxAgeMs: 4_000 };
const STALLED = { inTurn: true, stallMs: 900 };

describe('the timers of a session', () => {
  it.each([
    ['nothing is due', {}, { act: 'none' }],
    ['idle for long enough', IDLE, { act: 'sleep', reason: 'idle-timeout' }],
    ['idle, not yet', { idleMs: 5_000 }, { act: 'none', at: NOW + 4_000 }],
    ['too old', AGED, { act: 'drain', reason: 'max-session-age' }],
    ['not that old', { maxAgeMs: 6_000 }, { act: 'none', at: NOW + 1_000 }],
    ['too old in its turn', { ...AGED, inTurn: true }, { act: 'drain', reason: 'max-session-age' }],
    ['idle times do not count in a turn', { ...IDLE, inTurn: true }, { act: 'none' }],
    ['hangs in its turn', STALLED, { act: 'kill', reason: 'stalled' }],
    ['something came out of it meanwhile', { ...STALLED, outputAt: NOW - 100 }, { act: 'none', at: NOW + 800 }],
    ['holds work and nothing happens', { holderStallMs: 900, blockers: new Set(['work'] as const) }, { act: 'kill', reason: 'stalled' }],
    ['nothing happens, without work', { holderStallMs: 900 }, { act: 'none' }],
    ['no process', { ...IDLE, ...AGED, running: false }, { act: 'none' }],
    ['too old and idle', { ...IDLE, ...AGED }, { act: 'drain', reason: 'max-session-age' }],
    ['hangs and too old', { ...STALLED, ...AGED }, { act: 'kill', reason: 'stalled' }],
  ])('%s', (_, more, expected) => expect(timerDecision(facts(more as Partial<TimerFacts>))).toEqual(expected));

  it.each(BLOCKERS.map((one) => [one]))('never sleeps with: %s', (one) => {
    expect(timerDecision(facts({ ...IDLE, blockers: new Set([one]) }))).toEqual({ act: 'none', blocker: one });
  });

  const pairs = BLOCKERS.flatMap((a) => BLOCKERS.map((b) => [a, b] as const));
  it.each(pairs)('names the first of %s and %s, for idleness and for age', (a, b) => {
    const blockers = new Set<Blocker>([a, b]);
    const first = BLOCKERS.find((one) => blockers.has(one));
    expect(timerDecision(facts({ ...IDLE, blockers }))).toEqual({ act: 'none', blocker: first });
    const puts = (['interaction', 'work'] as const).find((one) => blockers.has(one));
    const aged = timerDecision(facts({ ...AGED, blockers }));
    expect(aged).toEqual(puts === undefined ? { act: 'drain', reason: 'max-session-age' } : { act: 'none', blocker: puts });
    const stalled = timerDecision(facts({ ...STALLED, blockers }));
    expect(stalled).toEqual(blockers.has('interaction') ? { act: 'none', blocker: 'interaction' } : { act: 'kill', reason: 'stalled' });
  });

  it('lets work put off its age as long as the limit allows', () => {
    const held = { ...AGED, blockers: new Set(['work'] as const) };
    expect(timerDecision(facts({ ...held, deferMs: 2_000 }))).toEqual({ act: 'none', blocker: 'work', at: NOW + 1_000 });
    expect(timerDecision(facts({ ...held, deferMs: 1_000 }))).toEqual({ act: 'drain', reason: 'max-session-age' });
  });
});
