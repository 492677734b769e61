import { describe, expect, it } from '@jest/globals';
import type { PoolDecision, PoolFacts, PoolSession } from './pool-facts.js';
import { poolPlan } from './pool-plan.js';
import { agentOf, factsWith, namedOf, sessionOf } from './testing/facts.js';

const plan = (named: PoolFacts['named'], session: Partial<PoolSession>, more: Partial<PoolFacts> = {}): readonly PoolDecision[] =>
  poolPlan(
    factsWith({
      agents: [agentOf('worker'), agentOf('other')],
      named,
      sessions: [sessionOf({ pk: 7, origin: 'named', identity: 'front', agentName: 'front', slot: null, ...session })],
      ...more,
    }),
  ).decisions;

describe('a session whose configured name stands for another agent', () => {
  const always = [namedOf('front', 'always', 'other')];
  const lazy = [namedOf('front', 'on_demand', 'other')];

  it('is drained, whatever comes up meanwhile', () => {
    expect(plan(lazy, {})).toMatchObject([{ do: 'drain', pk: 7, reason: 'reconfigured' }]);
    expect(plan(lazy, { inTurn: true, held: ['b-1'] })).toMatchObject([{ do: 'drain', pk: 7, reason: 'reconfigured' }]);
    const draining = { state: 'draining', stop: 'drain', stopReason: 'reconfigured' } as const;
    expect(plan(lazy, { ...draining, asks: true, messages: 1, pinned: true })).toEqual([]);
  });

  it('stays when its name stands for its agent again', () => {
    const draining = { state: 'draining', stop: 'drain', stopReason: 'reconfigured' } as const;
    expect(plan([namedOf('front', 'on_demand', 'worker')], draining)).toEqual([{ do: 'undrain', pk: 7 }]);
  });

  it('ends where it has no process, and is followed by the next one in the same look', () => {
    const close = { do: 'close', pk: 7, code: 'reconfigured' };
    expect(plan(always, { state: 'asleep' })).toEqual([close, { do: 'materialize', identity: 'front', why: 'named' }]);
    expect(plan(lazy, { state: 'asleep' })).toEqual([close]);
    const offered = new Map([['front', [{ id: 'b-1', at: 1 }]]]);
    const next = { do: 'materialize', identity: 'front', why: 'work', bead: 'b-1' };
    expect(plan(lazy, { state: 'asleep' }, { offered })).toEqual([close, next]);
    expect(plan(lazy, { state: 'asleep' }, { assigned: offered })).toEqual([close, next]);
  });

  it('stays parked for as long as somebody wants that', () => {
    expect(plan(always, { state: 'suspended' })).toEqual([]);
  });

  it('is known by that also where its agent is gone', () => {
    expect(plan(lazy, { state: 'asleep' }, { agents: [agentOf('other')] })).toEqual([{ do: 'close', pk: 7, code: 'reconfigured' }]);
  });
});
