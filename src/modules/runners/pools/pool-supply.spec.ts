import { describe, expect, it } from '@jest/globals';
import type { PoolDecision, PoolPlan, PoolSession } from './pool-facts.js';
import { poolPlan } from './pool-plan.js';
import { agentOf, factsWith, namedOf, NOW, sessionOf } from './testing/facts.js';
import { offered, plan, starts } from './testing/plans.js';

describe('names', () => {
  it('goes round names that are kept for others', () => {
    const named = [namedOf('worker-1', 'on_demand', 'worker')];
    expect(plan({ named, offered: offered(1) })).toMatchObject([{ do: 'create', name: 'worker-2' }]);
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
