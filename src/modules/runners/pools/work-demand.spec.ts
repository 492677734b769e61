import { describe, expect, it } from '@jest/globals';
import type { PoolDecision, PoolFacts } from './pool-facts.js';
import { poolPlan } from './pool-plan.js';
import { agentOf, namedOf, beads, factsWith, NOW, sessionOf, SETTINGS } from './testing/facts.js';
import { offered, plan, starts } from './testing/plans.js';

describe('starts for work', () => {
  it('one session a bead, no more than five a pass', () => {
    expect(plan({ offered: offered(1) })).toEqual([{ do: 'create', agent: 'worker', slot: 1, name: 'worker-1', why: 'work', bead: 'b-1' }]);
    expect(plan({ offered: offered(9) }).map((d) => 'name' in d && d.name)).toEqual([
      'worker-1',
      'worker-2',
      'worker-3',
      'worker-4',
      'worker-5',
    ]);
  });

  it.each([
    ['waits for a runner', { state: 'start-pending', wake: 'create' }],
    ['waits for its back-off', { state: 'asleep', wake: 'restart', reason: 'crashed' }],
    ['is being started', { state: 'creating' }],
    ['has just been told', { messages: 1 }],
    ['is in a turn', { inTurn: true }],
  ] as const)('counts a session that %s as supply', (_, more) => {
    expect(starts(plan({ offered: offered(1), sessions: [sessionOf(more)] }))).toEqual([]);
    expect(starts(plan({ offered: offered(2), sessions: [sessionOf(more)] }))).toHaveLength(1);
  });

  it('does not count one that has work, or is in a turn about something else', () => {
    expect(starts(plan({ offered: offered(1), sessions: [sessionOf({ inTurn: true, held: ['b-9'] })] }))).toHaveLength(1);
    expect(starts(plan({ offered: offered(1), sessions: [sessionOf({ inTurn: true, activityAt: NOW - 400_000 })] }))).toHaveLength(1);
  });

  it('tells an idle one instead of starting another, once', () => {
    const idle = sessionOf({ pk: 7 });
    expect(plan({ offered: offered(1), sessions: [idle] })).toEqual([{ do: 'nudge', pk: 7, beads: ['b-1'] }]);
    const told = { ...idle, nudges: { 'b-1': NOW - 60_000 }, activityAt: NOW - 50_000 };
    const next = plan({ offered: offered(1), sessions: [told] });
    expect(next.find((d) => d.do === 'nudge')).toBeUndefined();
    expect(next).toContainEqual({ do: 'drain', pk: 7, reason: 'no-wake-reason', ms: 300_000, empty: ['pool'] });
  });

  it('tells one that has work from two sides of each of them, once', () => {
    const named = [namedOf('front', 'on_demand', 'worker')];
    const idle = sessionOf({ pk: 7, origin: 'named', identity: 'front', agentName: 'front', alias: 'front', slot: null });
    const work = { assigned: new Map([['front', beads(2).slice(1)]]), offered: offered(1, 'front') };
    const nudges = (told: Record<string, number>): readonly string[] =>
      plan({ named, ...work, sessions: [{ ...idle, nudges: told }] })
        .filter((d) => d.do === 'nudge')
        .map((d) => d.beads[0]!);
    expect(nudges({})).toEqual(['b-2']);
    expect(nudges({ 'b-2': NOW - 1_000 })).toEqual(['b-1']);
    expect(nudges({ 'b-2': NOW - 2_000, 'b-1': NOW - 1_000 })).toEqual([]);
    expect(nudges({ 'b-2': NOW - 700_000, 'b-1': NOW - 1_000 })).toEqual(['b-2']);
  });

  it('lets one sleep that was told of work and did nothing with it, until it would be told again', () => {
    const asleep = {
      pk: 7,
      state: 'asleep',
      stateAt: NOW - 30_000,
      reason: 'idle-timeout',
      agentName: 'worker',
      slot: null,
      origin: 'manual',
    } as const;
    const woken = (more: object): boolean =>
      plan({ agents: [agentOf('worker', { max: 1 })], offered: offered(1), sessions: [sessionOf({ ...asleep, ...more })] }).some(
        (d) => d.do === 'wake',
      );
    expect(woken({ nudges: { 'b-1': NOW - 300_000 } })).toBe(false);
    expect(woken({ nudges: { 'b-1': NOW - 600_000 } })).toBe(true);
    expect(woken({ nudges: { 'b-0': NOW - 300_000 } })).toBe(true);
    expect(woken({ nudges: { 'b-1': NOW - 300_000 }, reason: 'handover' })).toBe(true);
  });

  it('wakes one that fell asleep over its work for what has changed or come since, and for nothing that was there before', () => {
    const session = sessionOf({
      ...{ pk: 7, state: 'asleep', stateAt: NOW - 120_000, reason: 'idle-timeout', origin: 'named' },
      ...{ identity: 'front', agentName: 'front', alias: 'front', slot: null, nudges: { 'b-1': NOW - 480_000 } },
    });
    const wakes = (work: Partial<PoolFacts>): readonly (readonly string[])[] =>
      plan({ named: [namedOf('front', 'on_demand', 'worker')], sessions: [session], ...work }).flatMap((d) =>
        d.do === 'wake' ? [d.beads!] : [],
      );
    const back = new Map([['front', beads(1, NOW - 1_000)]]);
    const joined = new Map([['front', [...beads(1, NOW - 500_000), { id: 'b-2', at: NOW - 1_000 }]]]);
    expect([wakes({ offered: back }), wakes({ assigned: back })]).toEqual([[['b-1']], [['b-1']]]);
    expect([wakes({ offered: joined }), wakes({ assigned: joined })]).toEqual([[['b-2', 'b-1']], [['b-2', 'b-1']]]);
    const before = new Map([['front', beads(1, NOW - 121_000)]]);
    expect([wakes({ offered: before }), wakes({ assigned: before })]).toEqual([[], []]);
  });

  it('tells an idle one again of what has come back since its last turn, once, and of what came behind what it knows', () => {
    const session = sessionOf({ pk: 7, origin: 'manual', alias: 'front', agentName: null, activityAt: NOW - 120_000 });
    const nudges = (at: number, nudged: number, activityAt = session.activityAt): readonly PoolDecision[] =>
      plan({ sessions: [{ ...session, activityAt, nudges: { 'b-1': nudged } }], assigned: new Map([['front', beads(1, at)]]) });
    expect(nudges(NOW - 1_000, NOW - 480_000)).toEqual([{ do: 'nudge', pk: 7, beads: ['b-1'] }]);
    expect(nudges(NOW - 2_000, NOW - 1_000)).toEqual([]);
    // It has changed it itself.
    expect(nudges(NOW - 2_000, NOW - 480_000, NOW - 1_000)).toEqual([]);
    const behind = new Map([['front', [...beads(1), { id: 'b-2', at: NOW - 30_000 }]]]);
    const knows = { ...session, activityAt: NOW - 1_000, nudges: { 'b-1': NOW - 50_000 } };
    expect(plan({ sessions: [knows], assigned: behind })).toEqual([{ do: 'nudge', pk: 7, beads: ['b-1', 'b-2'] }]);
    // Then it is told more and more seldom.
    const later = (at: number) => new Map([['front', [...beads(1), { id: 'b-2', at }]]]);
    const again = (told: number, n: number, at = NOW - 2_000): readonly PoolDecision[] =>
      plan({ sessions: [{ ...knows, nudges: { 'b-1': NOW - told }, nudged: { 'b-1': n } }], assigned: later(at) });
    const free = (told: number, n: number): number => again(told, n).length;
    expect([free(59_000, 2), free(60_000, 2), free(119_000, 3), free(120_000, 3)]).toEqual([0, 1, 0, 1]);
    // But for what is new since its last turn, whatever stays before that.
    expect(again(1_000, 8, NOW - 1)).toEqual([{ do: 'nudge', pk: 7, beads: ['b-2', 'b-1'] }]);
  });

  it.each(['assigned', 'offered'] as const)(
    'tells one that does a bead a turn of the next, the most urgent first, as soon as it is free (%s)',
    (way) => {
      const left = [...beads(6)];
      let session = sessionOf({ pk: 7, origin: 'named', identity: 'front', agentName: 'front', alias: 'front', slot: null });
      const told: (readonly [number, string])[] = [];
      for (let now = NOW; left.length > 0 && now < NOW + 600_000; now += 10_000) {
        const facts = { now, named: [namedOf('front', 'on_demand', 'worker')], sessions: [session], [way]: new Map([['front', left]]) };
        for (const d of plan(facts))
          if (d.do === 'nudge') {
            told.push([(now - NOW) / 1000, d.beads[0]!]);
            session = { ...session, activityAt: now + 5_000, nudges: { ...session.nudges, [d.beads[0]!]: now } };
            left.shift();
          }
      }
      expect(told).toEqual([
        [0, 'b-1'],
        [10, 'b-2'],
        [20, 'b-3'],
        [30, 'b-4'],
        [40, 'b-5'],
        [50, 'b-6'],
      ]);
    },
  );

  it.each([
    ['of its agent', { agents: [agentOf('worker', { max: 2 })] }, 2],
    ['of its agent that is off', { agents: [agentOf('worker', { max: 0 })] }, 0],
    ['of the city', { settings: { ...SETTINGS, maxSessions: 3 } }, 3],
    [
      'of its rig',
      { agents: [agentOf('web/worker')], settings: { ...SETTINGS, maxOfRig: new Map([['web', 1]]) }, offered: offered(9, 'web/worker') },
      1,
    ],
    ['of a suspended agent', { agents: [agentOf('worker', {}, { blocked: 'agent worker is suspended' })] }, 0],
  ])('keeps the limit %s', (_, more, most) => {
    expect(starts(plan({ offered: offered(9), ...(more as Partial<PoolFacts>) }))).toHaveLength(most);
  });

  it('wakes the only session of an agent for routed work, whoever made it and whatever it sleeps for', () => {
    const agents = [agentOf('worker', { max: 1 })];
    const only = { pk: 7, state: 'asleep', agentName: 'worker', slot: null } as const;
    const woken = [{ do: 'wake', pk: 7, why: 'work', beads: ['b-1'] }];
    for (const reason of ['idle-timeout', 'drained', 'exited', 'handover', 'runner-lost', 'killed', 'rate_limit', null])
      expect(plan({ agents, offered: offered(1), sessions: [sessionOf({ ...only, origin: 'manual', reason })] })).toEqual(woken);
    const limited = sessionOf({ ...only, origin: 'manual', reason: 'rate_limit', notBefore: NOW + 1 });
    expect(plan({ agents, offered: offered(1), sessions: [limited] })).toEqual([]);
    expect(plan({ agents, sessions: [sessionOf({ ...only, origin: 'manual', reason: 'idle-timeout' })] })).toEqual([]);
  });

  it('asks scale_check beside what is routed', () => {
    expect(starts(plan({ scale: new Map([['worker', 3]]) }))).toHaveLength(3);
    expect(starts(plan({ scale: new Map([['worker', 1]]), offered: offered(2) }))).toHaveLength(2);
  });

  it('begins none for a scale_check of which nobody knows what it says, and takes none back; the rest goes on', () => {
    const scale = new Map([['worker', undefined]]);
    const waiting = sessionOf({ state: 'start-pending', wake: 'work' });
    const idle = sessionOf({ pk: 3, activityAt: NOW - 31_000 });
    expect(plan({ scale })).toEqual([]);
    expect(starts(plan({ scale, offered: offered(2) }))).toHaveLength(2);
    expect([plan({ sessions: [waiting] }), plan({ scale, sessions: [waiting] })]).toMatchObject([[{ do: 'close' }], []]);
    expect(plan({ scale, sessions: [idle] })).toEqual([{ do: 'drain', pk: 3, reason: 'no-wake-reason', ms: 300_000 }]);
    expect(plan({ scale: new Map([['worker', 1]]), sessions: [idle] })).toMatchObject([{ do: 'drain', pk: 3, reason: 'no-wake-reason' }]);
  });

  it('waits after a run that took nothing, but not for what has come since', () => {
    const emptyRuns = new Map([['worker', { count: 1, lastAt: NOW - 10_000 }]]);
    const old = poolPlan(factsWith({ offered: offered(2), emptyRuns }));
    expect(starts(old.decisions)).toEqual([]);
    expect(old.nextAt).toBe(NOW + 50_000);
    expect(starts(plan({ offered: new Map([['worker', [...beads(2), { id: 'new', at: NOW - 5_000 }]]]), emptyRuns }))).toHaveLength(1);
    expect(starts(plan({ offered: offered(2), emptyRuns: new Map([['worker', { count: 1, lastAt: NOW - 61_000 }]]) }))).toHaveLength(2);
  });

  it('counts a run that it finds empty itself, but starts one for what came while that was on', () => {
    const ended = sessionOf({ state: 'asleep', reason: 'exited', readyAt: NOW - 10_000 });
    const first = plan({ offered: offered(1), sessions: [ended] });
    expect([first, starts(first)]).toEqual([[{ do: 'close', pk: ended.pk, code: 'drained', empty: ['pool'] }], []]);
    const meanwhile = [...beads(1), { id: 'new', at: NOW - 5_000 }];
    expect(starts(plan({ offered: new Map([['worker', meanwhile]]), sessions: [ended] }))).toMatchObject([{ do: 'create', bead: 'new' }]);
  });

  it('starts another one at once in the place of one that took nothing, where the configuration has changed since its start; a minute later where it did before', () => {
    const count9 = new Map([['worker', { count: 9, lastAt: NOW - 120_000 }]]);
    const after = (readyAt: number, mended: boolean, emptyRuns = count9): readonly string[] =>
      plan({ offered: offered(1), emptyRuns, sessions: [sessionOf({ state: 'asleep', reason: 'exited', readyAt, mended })] }).map(
        (d) => d.do,
      );
    expect(after(NOW - 10_000, true, new Map())).toEqual(['close', 'create']);
    expect(after(NOW - 10_000, true)).toEqual(['close']);
    expect(after(NOW - 60_000, true)).toEqual(['close', 'create']);
    expect(after(NOW - 60_000, false)).toEqual(['close']);
  });

  it('tells those that are there of work that one has left which has crashed, and starts nobody for it', () => {
    const ended = sessionOf({ pk: 1, state: 'asleep', reason: 'crashed', stateAt: NOW - 1_000, readyAt: NOW - 11_000 });
    const close = { do: 'close', pk: 1, code: 'drained', empty: ['pool'] };
    expect(plan({ offered: offered(1), sessions: [ended, sessionOf({ pk: 2 })] })).toEqual([close, { do: 'nudge', pk: 2, beads: ['b-1'] }]);
    expect(plan({ offered: offered(2), sessions: [ended, sessionOf({ pk: 2 })] })).toHaveLength(2);
    expect(plan({ offered: offered(1), sessions: [ended] })).toEqual([close]);
  });

  it('starts one at once in the place of one that has crashed after it had run for a while', () => {
    const ended = sessionOf({ pk: 1, state: 'asleep', reason: 'crashed', stateAt: NOW - 1_000, readyAt: NOW - 301_000 });
    expect(plan({ offered: offered(1), sessions: [ended] })).toEqual([
      { do: 'close', pk: 1, code: 'drained' },
      expect.objectContaining({ do: 'create', why: 'work' }),
    ]);
    expect(plan({ offered: offered(1), sessions: [{ ...ended, reason: 'exited' }] })).toContainEqual(
      expect.objectContaining({ empty: ['pool'] }),
    );
  });

  it('starts a member at once for work of its own that came while the last one ran', () => {
    const ended = sessionOf({ state: 'asleep', reason: 'exited', readyAt: NOW - 10_000, agentName: 'worker-1', alias: 'worker-1' });
    const first = plan({ offered: offered(1, 'worker-1'), sessions: [ended] });
    expect(first).toEqual([{ do: 'close', pk: ended.pk, code: 'drained', empty: ['member'] }]);
    const meanwhile = [...beads(1), { id: 'new', at: NOW - 5_000 }];
    const next = plan({ offered: new Map([['worker-1', meanwhile]]), sessions: [ended] });
    expect(starts(next)).toMatchObject([{ do: 'create', name: 'worker-1', bead: 'new' }]);
  });

  it('starts nothing for an agent whose sessions are told to slow down', () => {
    const limited = sessionOf({ state: 'asleep', reason: 'rate_limit', notBefore: NOW + 60_000 });
    expect(plan({ offered: offered(3), sessions: [limited] })).toEqual([]);
  });

  it('makes the member that work is assigned or routed to', () => {
    const member = { do: 'create', agent: 'worker', slot: 3, name: 'worker-3', why: 'work', bead: 'b-1' };
    expect(plan({ assigned: offered(1, 'worker-3') })).toEqual([member]);
    expect(plan({ offered: offered(1, 'worker-3') })).toEqual([member]);
    const single = { agents: [agentOf('worker', { max: 1 })] };
    expect(plan({ ...single, assigned: offered(1, 'worker') })).toEqual([{ ...member, slot: null, name: 'worker' }]);
    expect(plan({ ...single, assigned: offered(1, 'somebody') })).toEqual([]);
  });
});
