import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { isCounted } from './capacity.js';
import type { PoolDecision, PoolFacts, PoolPlan, PoolSession } from './pool-facts.js';
import { poolPlan } from './pool-plan.js';
import { agentOf, beads, factsWith, namedOf, NOW, sessionOf, SETTINGS } from './testing/facts.js';

const plan = (more: Partial<PoolFacts>): readonly PoolDecision[] => poolPlan(factsWith(more)).decisions;
const offered = (n: number, route = 'worker') => new Map([[route, beads(n)]]);
const starts = (decisions: readonly PoolDecision[]): PoolDecision[] =>
  decisions.filter((d) => d.do === 'create' || d.do === 'materialize' || d.do === 'wake');

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
    const told = { ...idle, nudgedAt: NOW - 60_000, nudgedFor: 'b-1', activityAt: NOW - 50_000 };
    const next = plan({ offered: offered(1), sessions: [told] });
    expect(next.find((d) => d.do === 'nudge')).toBeUndefined();
    expect(next).toContainEqual({ do: 'drain', pk: 7, reason: 'no-wake-reason', ms: 300_000, empty: ['pool'] });
  });

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

  it('goes round names that are kept for others', () => {
    const named = [namedOf('worker-1', 'on_demand', 'worker')];
    expect(plan({ named, offered: offered(1) })).toMatchObject([{ do: 'create', name: 'worker-2' }]);
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

  it('starts another one at once in the place of one that took nothing, where the configuration has changed since its start', () => {
    const ended = sessionOf({ state: 'asleep', reason: 'exited', readyAt: NOW - 10_000, mended: true });
    expect(plan({ offered: offered(1), sessions: [ended] })).toMatchObject([
      { do: 'close', empty: ['pool'] },
      { do: 'create', why: 'work' },
    ]);
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

  it('fills a minimum at once after one that has run for a while, or that had a reason to end', () => {
    const agents = [agentOf('worker', { min: 1 })];
    const ended = (more: Partial<PoolSession>): PoolSession =>
      sessionOf({ state: 'asleep', reason: 'exited', stateAt: NOW - 1_000, readyAt: NOW - 11_000, agentName: 'worker-1', ...more });
    const after = (more: Partial<PoolSession>): readonly PoolDecision[] => starts(plan({ agents, sessions: [ended(more)] }));
    expect(after({})).toEqual([]);
    expect(after({ reason: 'drained', drainedItself: true })).toEqual([]);
    for (const more of [{ readyAt: NOW - 301_000 }, { reason: 'drained' }, { reason: 'killed' }, { everHeld: true }])
      expect(after(more)).toMatchObject([{ do: 'create', why: 'minimum' }]);
  });

  it('gives who comes the names of those that go in the same look, unless a process still has them', () => {
    const agents = [agentOf('worker', { max: 2 })];
    const ended = (pk: number, more: Partial<PoolSession> = {}): PoolSession =>
      sessionOf({ pk, state: 'asleep', reason: 'exited', everHeld: true, alias: `worker-${pk}`, agentName: `worker-${pk}`, ...more });
    const decisions = plan({ agents, offered: offered(2), sessions: [ended(1), ended(2)] });
    expect(decisions.map((one) => ('name' in one ? [one.do, one.name] : [one.do]))).toEqual([
      ['close'],
      ['close'],
      ['create', 'worker-1'],
      ['create', 'worker-2'],
    ]);
    const held = plan({ agents, offered: offered(2), sessions: [ended(1, { hasRunner: true }), ended(2)] });
    expect(held.some((one) => one.do === 'create' && one.name === 'worker-1')).toBe(false);
  });

  it('starts nothing for an agent whose sessions are told to slow down', () => {
    const limited = sessionOf({ state: 'asleep', reason: 'rate_limit', notBefore: NOW + 60_000 });
    expect(plan({ offered: offered(3), sessions: [limited] })).toEqual([]);
  });

  it('makes the member that work is assigned or routed to', () => {
    const member = { do: 'create', agent: 'worker', slot: 3, name: 'worker-3', why: 'work', bead: 'b-1' };
    expect(plan({ assigned: new Map([['worker-3', ['b-1']]]) })).toEqual([member]);
    expect(plan({ offered: offered(1, 'worker-3') })).toEqual([member]);
    const single = { agents: [agentOf('worker', { max: 1 })] };
    expect(plan({ ...single, assigned: new Map([['worker', ['b-1']]]) })).toEqual([{ ...member, slot: null, name: 'worker' }]);
    expect(plan({ ...single, assigned: new Map([['somebody', ['b-1']]]) })).toEqual([]);
  });
});

describe('a pool of which some could not be started', () => {
  const agents = [agentOf('worker', { max: 3 })];
  const names = (decisions: readonly PoolDecision[]): string[] => starts(decisions).flatMap((d) => ('name' in d ? d.name : []));
  const failed = (pk: number, ago: number, more: Partial<PoolSession> = {}): PoolSession =>
    sessionOf({ pk, state: 'failed-create', reason: 'failed-create', stateAt: NOW - ago, readyAt: undefined, ...more });

  it('tries one other after a pause that grows with each of them, and says when', () => {
    const waits = (sessions: PoolSession[]): PoolPlan => poolPlan(factsWith({ agents, offered: offered(3), sessions }));
    expect(waits([failed(1, 14_999)])).toMatchObject({ decisions: [], nextAt: NOW + 1 });
    expect(names(waits([failed(1, 15_000)]).decisions)).toEqual(['worker-2']);
    expect(waits([failed(1, 60_000), failed(2, 29_000)])).toMatchObject({ decisions: [], nextAt: NOW + 1_000 });
    expect(names(waits([failed(1, 60_000), failed(2, 30_000)]).decisions)).toEqual(['worker-3']);
  });

  it('tries no second one beside the one that it tries', () => {
    const trying = sessionOf({ pk: 2, state: 'asleep', reason: 'crashed', wake: 'create', notBefore: NOW + 4_000, readyAt: undefined });
    expect(plan({ agents, offered: offered(3), sessions: [failed(1, 60_000), trying] })).toEqual([]);
  });

  it('fills all other places once one of them has come up, and leaves theirs to those that failed', () => {
    const up = sessionOf({ pk: 2, readyAt: NOW - 1_000, held: ['b-9'] });
    expect(names(plan({ agents, offered: offered(3), sessions: [failed(1, 5_000), up] }))).toEqual(['worker-3']);
    const minimum = [agentOf('worker', { max: 3, min: 3 })];
    expect(names(plan({ agents: minimum, sessions: [failed(1, 5_000), up] }))).toEqual(['worker-3']);
  });

  it('fills them at once where the configuration has changed, and makes room for the next look', () => {
    const decisions = plan({ agents, offered: offered(3), sessions: [failed(1, 1_000, { mended: true })] });
    expect(decisions).toContainEqual({ do: 'close', pk: 1, code: 'failed-create' });
    expect(names(decisions)).toEqual(['worker-1', 'worker-2']);
  });
});

describe('sessions that sleep', () => {
  const asleep = (more = {}) => sessionOf({ pk: 5, state: 'asleep', origin: 'manual', agentName: 'worker', reason: 'idle', ...more });

  it.each([
    ['hold work', { held: ['b-1'] }, { do: 'wake', pk: 5, why: 'work', beads: ['b-1'] }],
    ['have messages', { messages: 1 }, { do: 'wake', pk: 5, why: 'message' }],
    ['stopped with their city', { reason: 'city-stop' }, { do: 'wake', pk: 5, why: 'restart' }],
    ['are pinned', { pinned: true }, { do: 'wake', pk: 5, why: 'pinned' }],
    ['were drained for a new configuration', { reason: 'config-drift' }, { do: 'wake', pk: 5, why: 'drift' }],
  ])('wake when they %s', (_, more, expected) => expect(plan({ sessions: [asleep(more)] })).toEqual([expected]));

  it.each([
    ['a person killed it', { held: ['b-1'], reason: 'killed' }],
    ['it waits for beads', { held: ['b-1'], waits: true }],
    ['it has to sign in', { held: ['b-1'], reason: 'auth-required' }],
    ['it is on hold', { held: ['b-1'], heldUntil: NOW + 1 }],
    ['it ended soon after it was woken', { held: ['b-1'], churns: 3, stateAt: NOW - 60_000 }],
    ['nothing wants it', {}],
  ])('stay asleep when %s', (_, more) => expect(plan({ sessions: [asleep(more)] })).toEqual([]));

  it('never wakes what is suspended, archived or blocked', () => {
    for (const state of ['suspended', 'archived', 'failed-create'] as const)
      expect(starts(plan({ sessions: [asleep({ state, held: ['b-1'] })] }))).toEqual([]);
    const blocked = { agents: [agentOf('worker', {}, { blocked: 'rig web is suspended' })] };
    expect(starts(plan({ ...blocked, sessions: [asleep({ held: ['b-1'], toldStranded: true })] }))).toEqual([]);
  });

  it('closes members of pools that hold nothing, keeps the others', () => {
    expect(plan({ sessions: [sessionOf({ pk: 5, state: 'asleep', reason: 'no-wake-reason' })] })).toEqual([
      { do: 'close', pk: 5, code: 'drained' },
    ]);
    expect(plan({ sessions: [sessionOf({ pk: 5, state: 'asleep', held: ['b-1'] })] })).toEqual([
      { do: 'wake', pk: 5, why: 'work', beads: ['b-1'] },
    ]);
  });
});

describe('named sessions', () => {
  const named = [namedOf('boss', 'always', 'worker')];
  it('always: made, woken, never slept', () => {
    expect(plan({ named })).toEqual([{ do: 'materialize', identity: 'boss', why: 'named' }]);
    const boss = sessionOf({ pk: 4, origin: 'named', identity: 'boss', agentName: 'boss', state: 'asleep' });
    expect(plan({ named, sessions: [boss] })).toEqual([{ do: 'wake', pk: 4, why: 'named' }]);
    expect(plan({ named, sessions: [{ ...boss, state: 'active', live: true, hasRunner: true, activityAt: 0 }] })).toEqual([]);
    expect(starts(plan({ named, sessions: [{ ...boss, state: 'suspended' }] }))).toEqual([]);
  });

  it('on demand: made for work, sleeps after five idle minutes', () => {
    const lazy = [namedOf('boss', 'on_demand', 'worker')];
    expect(plan({ named: lazy })).toEqual([]);
    expect(plan({ named: lazy, offered: offered(1, 'boss') })).toEqual([{ do: 'materialize', identity: 'boss', why: 'work', bead: 'b-1' }]);
    const boss = sessionOf({ pk: 4, origin: 'named', identity: 'boss', agentName: 'boss', activityAt: NOW - 300_000 });
    expect(plan({ named: lazy, sessions: [boss] })).toEqual([{ do: 'sleep', pk: 4, reason: 'idle-timeout' }]);
    expect(plan({ named: lazy, sessions: [{ ...boss, held: ['b-1'] }] })).toEqual([]);
  });
});

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

describe('minimum', () => {
  const agents = [agentOf('worker', { min: 2 })];
  it('is kept, and never drained', () => {
    expect(starts(plan({ agents }))).toHaveLength(2);
    const idle = [sessionOf({ activityAt: 0 }), sessionOf({ activityAt: 0 })];
    expect(plan({ agents, sessions: idle })).toEqual([]);
    expect(plan({ agents, sessions: [...idle, sessionOf({ pk: 99, activityAt: -1 })] })).toMatchObject([{ do: 'drain', pk: 99 }]);
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
