import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { isCounted } from './capacity.js';
import { poolPlan } from './pool-plan.js';
import { agentOf, factsWith, NOW, sessionOf, SETTINGS } from './testing/facts.js';
import { offered, plan, starts } from './testing/plans.js';

describe('sessions that should not run', () => {
  it.each([
    ['its agent is gone', { agents: [] }, {}, 'orphaned'],
    ['its agent is suspended', { agents: [agentOf('worker', {}, { blocked: 'agent worker is suspended' })] }, {}, 'suspended'],
    ['its configuration is another', {}, { drifted: true }, 'config-drift'],
    ['it has nothing to do', {}, { activityAt: NOW - 31_000 }, 'no-wake-reason'],
  ])('are drained when %s', (_, more, session, reason) => {
    expect(plan({ ...more, sessions: [sessionOf({ pk: 3, ...session })] })).toMatchObject([{ do: 'drain', pk: 3, reason }]);
  });

  it('waits for the end of a turn with a new configuration', () => {
    expect(plan({ sessions: [sessionOf({ drifted: true, inTurn: true, held: ['b-1'] })] })).toEqual([]);
    expect(plan({ sessions: [sessionOf({ drifted: true, asks: true })] })).toEqual([]);
  });

  const draining = (stopReason: string, more = {}) => sessionOf({ pk: 3, state: 'draining', stop: 'drain', stopReason, ...more });
  it.each([
    ['work has come', draining('no-wake-reason', { held: ['b-1'] }), true],
    ['a message has come', draining('no-wake-reason', { messages: 1 }), true],
    ['it asks something', draining('config-drift', { asks: true }), true],
    ['it has work, but is too old', draining('max-session-age', { held: ['b-1'] }), false],
    ['its agent is there again', draining('orphaned'), true],
    ['its agent is not suspended any more', draining('suspended'), true],
    ['nothing has changed', draining('no-wake-reason'), false],
    ['it asks something, but somebody wants it drained', draining('drained', { asks: true }), false],
    ['it has work, but somebody wants it drained', draining('drained', { held: ['b-1'], messages: 1, pinned: true }), false],
  ])('a drain ends when %s', (_, session, expected) => {
    expect(plan({ sessions: [session] })).toEqual(expected ? [{ do: 'undrain', pk: 3 }] : []);
  });

  it('stop with their city, and end when it is gone', () => {
    const sessions = [
      sessionOf({ pk: 1 }),
      sessionOf({ pk: 2, state: 'draining', stop: 'drain' }),
      sessionOf({ pk: 3, stop: 'close' }),
      sessionOf({ pk: 4, state: 'asleep' }),
    ];
    expect(plan({ city: 'stopped', sessions })).toEqual([
      { do: 'sleep', pk: 1, reason: 'city-stop' },
      { do: 'kill', pk: 2, reason: 'city-stop' },
    ]);
    expect(plan({ city: 'gone', sessions }).map((d) => 'pk' in d && d.pk)).toEqual([1, 2, 4]);
  });

  it('is told once that it holds work and cannot run', () => {
    const stranded = sessionOf({ pk: 3, state: 'suspended', held: ['b-1'] });
    expect(plan({ sessions: [stranded] })).toEqual([{ do: 'tell', pk: 3, what: 'stranded' }]);
    expect(plan({ sessions: [{ ...stranded, toldStranded: true }] })).toEqual([]);
    expect(plan({ sessions: [sessionOf({ pk: 3, held: ['b-1'], toldStranded: true })] })).toEqual([{ do: 'tell', pk: 3, what: 'found' }]);
  });

  it('a start that nobody carries out is taken back after its one deadline', () => {
    const late = sessionOf({ pk: 3, state: 'creating', startDeadline: NOW - 1, runnerGone: true });
    expect(plan({ sessions: [late] })).toEqual([{ do: 'lost-start', pk: 3 }]);
    expect(plan({ sessions: [{ ...late, startDeadline: NOW + 1 }] })).toEqual([]);
    expect(plan({ sessions: [{ ...late, runnerGone: false }] })).toEqual([]);
  });
});

describe('whatever the facts', () => {
  const session = fc.record({
    state: fc.constantFrom('start-pending', 'creating', 'active', 'asleep', 'suspended', 'draining', 'quarantined', 'failed-create'),
    origin: fc.constantFrom('pool', 'manual'),
    inTurn: fc.boolean(),
    held: fc.constantFrom([], ['b-1']),
    messages: fc.nat(1),
    asks: fc.boolean(),
    drifted: fc.boolean(),
    churns: fc.nat(3),
    activityAt: fc.constantFrom(NOW - 1, NOW - 40_000, NOW - 4_000_000),
    reason: fc.constantFrom(null, 'idle', 'crashed', 'killed', 'rate_limit', 'city-stop'),
  });
  const facts = fc.record({
    sessions: fc.array(session, { maxLength: 12 }),
    max: fc.constantFrom(undefined, 0, 1, 2, 5),
    city: fc.constantFrom(undefined, 1, 4),
    min: fc.nat(2),
    offers: fc.nat(8),
    scale: fc.nat(4),
    blocked: fc.boolean(),
  });

  it('no limit is passed, nothing with work sleeps, and at most one thing is decided about a session', () => {
    fc.assert(
      fc.property(facts, (drawn) => {
        const sessions = drawn.sessions.map((one, i) => {
          const bare = sessionOf({
            ...one,
            pk: i + 1,
            slot: i + 1,
            agentName: one.origin === 'pool' ? `worker-${i + 1}` : 'worker',
          } as never);
          const inTurn = bare.live && one.inTurn;
          return {
            ...bare,
            inTurn,
            asks: bare.live && one.asks,
            stop: one.state === 'draining' ? ('drain' as const) : null,
            stopReason: 'no-wake-reason',
          };
        });
        const given = factsWith({
          sessions,
          agents: [agentOf('worker', { max: drawn.max, min: drawn.min }, drawn.blocked ? { blocked: 'suspended' } : {})],
          settings: { ...SETTINGS, maxSessions: drawn.city },
          offered: offered(drawn.offers),
          scale: new Map([['worker', drawn.scale]]),
        });
        const { decisions } = poolPlan(given);
        expect(poolPlan(given).decisions).toEqual(decisions);
        const before = sessions.filter(isCounted).length;
        const added = starts(decisions).length;
        if (drawn.blocked) expect(added).toBe(0);
        if (added > 0) {
          expect(before + added).toBeLessThanOrEqual(drawn.max ?? Infinity);
          expect(before + added).toBeLessThanOrEqual(drawn.city ?? Infinity);
          expect(added).toBeLessThanOrEqual(SETTINGS.startsAPass);
        }
        const about = decisions.filter((d) => d.do !== 'tell').flatMap((d) => ('pk' in d ? [d.pk] : []));
        expect(new Set(about).size).toBe(about.length);
        for (const decision of decisions) {
          if (!('pk' in decision)) continue;
          const its = sessions.find(({ pk }) => pk === decision.pk)!;
          if (decision.do === 'sleep') expect([its.held, its.messages, its.asks, its.inTurn]).toEqual([[], 0, false, false]);
          if (decision.do === 'drain' && decision.reason === 'no-wake-reason')
            expect([its.held, its.messages, its.inTurn]).toEqual([[], 0, false]);
          if (decision.do === 'close' && decision.code === 'drained') expect([its.held, its.messages]).toEqual([[], 0]);
        }
      }),
      { numRuns: 500 },
    );
  });
});
