import { describe, expect, it } from '@jest/globals';
import { SLEEP_REASONS } from '../../sessions/session-store/session-states.js';
import type { PoolDecision, PoolFacts, PoolSession } from './pool-facts.js';
import { poolPlan } from './pool-plan.js';
import { beads, factsWith, namedOf, NOW, sessionOf } from './testing/facts.js';

const plan = (more: Partial<PoolFacts>): readonly PoolDecision[] => poolPlan(factsWith(more)).decisions;
const HOUR_MS = 3_600_000;

describe('a quarantine', () => {
  const quarantined = (more: Partial<PoolSession> = {}): PoolSession =>
    sessionOf({ pk: 3, state: 'quarantined', reason: 'quarantine', quarantinedUntil: NOW + 60_000, ...more });

  it('lasts as long as it was to, whatever waits, and is looked at again right then', () => {
    const waiting = poolPlan(factsWith({ sessions: [quarantined({ held: ['b-1'], messages: 1 })], offered: new Map([['worker', []]]) }));
    expect(waiting.decisions).toEqual([]);
    expect(waiting.nextAt).toBeLessThanOrEqual(NOW + 60_000);
  });

  it('is lifted when it is over', () => {
    for (const origin of ['manual', 'named', 'pool'] as const)
      expect(plan({ sessions: [quarantined({ origin, quarantinedUntil: NOW })] })).toEqual([{ do: 'unquarantine', pk: 3 }]);
  });

  it('leaves a session that goes on with its work, after a pause', () => {
    const lifted = sessionOf({ pk: 3, state: 'asleep', origin: 'manual', held: ['b-1'], churns: 1, stateAt: NOW });
    const soon = poolPlan(factsWith({ sessions: [lifted] }));
    expect(soon.decisions).toEqual([]);
    expect(soon.nextAt).toBe(NOW + 30_000);
    expect(poolPlan(factsWith({ now: NOW + 30_000, sessions: [lifted] })).decisions).toMatchObject([{ do: 'wake', pk: 3, why: 'work' }]);
  });
});

describe('a named session that sleeps and has work', () => {
  /** Only a person can do something about these. */
  const PEOPLE = ['auth-required', 'user-hold', 'provider-terminal-error', 'unconfirmed-dead'];
  const named = [namedOf('boss', 'on_demand', 'worker')];
  const asleep = (reason: string | null): PoolSession =>
    sessionOf({
      pk: 4,
      origin: 'named',
      identity: 'boss',
      agentName: 'boss',
      alias: 'boss',
      state: 'asleep',
      reason,
      stateAt: NOW - HOUR_MS,
    });
  const wakes = (more: Partial<PoolFacts>): boolean => plan({ named, ...more }).some((decision) => decision.do === 'wake');

  it.each([...SLEEP_REASONS, null])('is woken although it sleeps for %s, unless only a person can help', (reason) => {
    const sessions = [asleep(reason)];
    const expected = !PEOPLE.includes(reason ?? '');
    expect(wakes({ sessions, assigned: new Map([['boss', beads(1)]]) })).toBe(expected);
    expect(wakes({ sessions, offered: new Map([['boss', beads(1)]]) })).toBe(expected);
    expect(wakes({ sessions: [{ ...asleep(reason), held: ['b-1'] }] })).toBe(expected);
  });
});

describe('a session that could not be started', () => {
  const MINUTES_MS = 60_000;
  const failed = (more: Partial<PoolSession> = {}): PoolSession =>
    sessionOf({ pk: 4, state: 'failed-create', reason: 'failed-create', stateAt: NOW - 5 * MINUTES_MS, ...more });
  const boss = { origin: 'named', identity: 'boss', agentName: 'boss', alias: 'boss' } as const;
  const named = [namedOf('boss', 'on_demand', 'worker')];
  const WAITING: readonly (readonly [string, Partial<PoolFacts>])[] = [
    [
      'work that is assigned to a member of a pool',
      { sessions: [failed({ agentName: 'worker-4' })], assigned: new Map([['worker-4', beads(1)]]) },
    ],
    ['work that is assigned to a session by hand', { sessions: [failed({ origin: 'manual' })], assigned: new Map([['al-4', beads(1)]]) }],
    ['work that is routed to a named one', { named, sessions: [failed(boss)], offered: new Map([['boss', beads(1)]]) }],
    ['messages', { sessions: [failed({ messages: 1 })] }],
    ['the city, always', { named: [namedOf('boss', 'always', 'worker')], sessions: [failed(boss)] }],
  ];

  it.each(WAITING)('is tried again after five minutes, as long as it is waited for by %s', (_, waiting) => {
    expect(plan(waiting)).toEqual([{ do: 'retry', pk: 4 }]);
    const sooner = poolPlan(factsWith({ ...waiting, now: NOW - 1 }));
    expect(sooner.decisions).toEqual([]);
    expect(sooner.nextAt).toBe(NOW);
  });

  it.each(WAITING)('is tried again at once when the configuration is another one, as long as it is waited for by %s', (_, waiting) => {
    const sessions = waiting.sessions!.map((session) => ({ ...session, mended: true, stateAt: NOW }));
    expect(plan({ ...waiting, sessions })).toEqual([{ do: 'mended', pk: 4 }]);
  });

  it('rests no longer, in whatever state, once the configuration is another one', () => {
    const rests: readonly Partial<PoolSession>[] = [
      { state: 'quarantined', reason: 'quarantine', quarantinedUntil: NOW + 60_000 },
      { state: 'asleep', reason: 'crashed', notBefore: NOW + 4_000, wake: 'create' },
      { state: 'asleep', reason: 'provider-terminal-error', origin: 'manual' },
      { state: 'asleep', reason: 'auth-required', origin: 'manual' },
    ];
    for (const more of rests) {
      expect(plan({ sessions: [failed({ stateAt: NOW, ...more })] })).not.toContainEqual(expect.objectContaining({ do: 'mended' }));
      expect(plan({ sessions: [failed({ stateAt: NOW, mended: true, ...more })] })).toEqual([{ do: 'mended', pk: 4 }]);
    }
    const idle = failed({ state: 'asleep', reason: 'idle', origin: 'manual', mended: true });
    expect(plan({ sessions: [idle] })).toEqual([]);
  });

  it('is left to people when nothing waits, or somebody has to sign in', () => {
    expect(plan({ named, sessions: [failed(boss)] })).toEqual([]);
    expect(plan({ sessions: [failed({ origin: 'manual' })] })).toEqual([]);
    const signIn = [failed({ ...boss, reason: 'auth-required' })];
    expect(plan({ named, sessions: signIn, assigned: new Map([['boss', beads(1)]]) })).toEqual([]);
  });

  it('makes room when it is one of a pool and nothing waits for it', () => {
    expect(plan({ sessions: [failed()] })).toEqual([{ do: 'close', pk: 4, code: 'failed-create' }]);
  });

  it('does not keep the rest of its pool from work for ever', () => {
    const assigned = new Map([['worker-4', [{ id: 'b-9', at: NOW }]]]);
    const offered = new Map([['worker', beads(1)]]);
    const tried = failed({ agentName: 'worker-4', state: 'asleep', reason: null, stateAt: NOW, churns: 1 });
    expect(plan({ sessions: [tried], assigned, offered })).toMatchObject([{ do: 'create', name: 'worker-1' }]);
  });
});
