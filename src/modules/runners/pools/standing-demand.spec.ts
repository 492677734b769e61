import { describe, expect, it } from '@jest/globals';
import type { PoolDecision, PoolSession } from './pool-facts.js';
import { agentOf, namedOf, NOW, sessionOf } from './testing/facts.js';
import { offered, plan, starts } from './testing/plans.js';

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

describe('minimum', () => {
  const agents = [agentOf('worker', { min: 2 })];
  it('is kept, and never drained', () => {
    expect(starts(plan({ agents }))).toHaveLength(2);
    const idle = [sessionOf({ activityAt: 0 }), sessionOf({ activityAt: 0 })];
    expect(plan({ agents, sessions: idle })).toEqual([]);
    expect(plan({ agents, sessions: [...idle, sessionOf({ pk: 99, activityAt: -1 })] })).toMatchObject([{ do: 'drain', pk: 99 }]);
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
});
