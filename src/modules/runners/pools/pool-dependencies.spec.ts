import { describe, expect, it } from '@jest/globals';
import type { PoolDecision, PoolFacts } from './pool-facts.js';
import { poolPlan } from './pool-plan.js';
import { agentOf, beads, factsWith, namedOf, NOW, sessionOf } from './testing/facts.js';

const plan = (more: Partial<PoolFacts>): readonly PoolDecision[] => poolPlan(factsWith(more)).decisions;
const base = agentOf('base');
const top = agentOf('top', {}, { needs: ['base'] });
const agents = [top, base];
const offered = new Map([['top', beads(1)]]);
const created = (name: string, why: string): object => expect.objectContaining({ do: 'create', name, why });

describe('an agent that depends on another', () => {
  it('is started when that one runs, which is started for it', () => {
    expect(plan({ agents, offered })).toEqual([created('base-1', 'dependency')]);
    const coming = sessionOf({ agent: 'base', agentName: 'base-1', state: 'creating' });
    expect(plan({ agents, offered, sessions: [coming] })).toEqual([]);
    const there = sessionOf({ agent: 'base', agentName: 'base-1' });
    expect(plan({ agents, offered, sessions: [there] })).toEqual([created('top-1', 'work')]);
  });

  it('waits for all of a chain, from its end', () => {
    const chain = [agentOf('a', {}, { needs: ['b', 'x'] }), agentOf('b', {}, { needs: ['c'] }), agentOf('c'), agentOf('x')];
    const work = new Map([['a', beads(1)]]);
    expect(plan({ agents: chain, offered: work })).toEqual([created('c-1', 'dependency'), created('x-1', 'dependency')]);
    const [c, x, b] = ['c', 'x', 'b'].map((agent) => sessionOf({ agent, agentName: `${agent}-1` }));
    expect(plan({ agents: chain, offered: work, sessions: [c!, x!] })).toEqual([created('b-1', 'dependency')]);
    // What has ended further away comes back, and nobody waits for it.
    expect(plan({ agents: chain, offered: work, sessions: [x!, b!] })).toEqual([created('a-1', 'work'), created('c-1', 'dependency')]);
    expect(plan({ agents: chain, offered: work, sessions: [c!, x!, b!] })).toEqual([created('a-1', 'work')]);
  });

  it.each([
    ['for its minimum', { agents: [agentOf('top', { min: 1 }, { needs: ['base'] }), base] }],
    ['because its named session always runs', { agents, named: [namedOf('chief', 'always', 'top')] }],
    ['because its work is assigned', { agents, assigned: new Map([['top-1', beads(1)]]) }],
    ['to go on after a stop of the city', { agents, sessions: [asleep({ reason: 'city-stop', origin: 'manual' })] }],
  ])('waits also %s', (_, more) => {
    expect(plan(more as Partial<PoolFacts>)).toEqual([created('base-1', 'dependency')]);
  });

  it.each([
    ['for work that came while that one rests', { offered: new Map([['top', beads(1, NOW - 5_000)]]) }],
    ['for work of one of its members', { offered: new Map([['top-2', beads(1, NOW - 5_000)]]) }],
    ['for work that was assigned', { assigned: new Map([['top-1', beads(1, NOW - 5_000)]]) }],
    ['to go on with work whose process was lost', { sessions: [asleep({ held: ['b-1'], reason: 'runner-lost', stateAt: NOW - 5_000 })] }],
    ['for one that runs since', { sessions: [sessionOf({ agent: 'top', agentName: 'top-1', messages: 1, stateAt: NOW - 5_000 })] }],
  ])('has that one started again at once %s, and not for what was there before', (_, more) => {
    const rests = (lastAt: number): Partial<PoolFacts> => ({ agents, ...more, idleRuns: new Map([['base', { count: 5, lastAt }]]) });
    expect(plan(rests(NOW - 10_000))).toContainEqual(created('base-1', 'dependency'));
    const { decisions, nextAt } = poolPlan(factsWith(rests(NOW - 1_000)));
    expect(decisions).toEqual([]);
    expect(nextAt).toBeLessThanOrEqual(NOW + 599_000);
  });

  it('has the end of a chain started again at once, too', () => {
    const chain = [agentOf('a', {}, { needs: ['b'] }), agentOf('b', {}, { needs: ['c'] }), agentOf('c')];
    const idleRuns = new Map([['c', { count: 5, lastAt: NOW - 10_000 }]]);
    expect(plan({ agents: chain, idleRuns, offered: new Map([['a', beads(1, NOW - 5_000)]]) })).toEqual([created('c-1', 'dependency')]);
    expect(plan({ agents: chain, idleRuns, offered: new Map([['a', beads(1)]]) })).toEqual([]);
  });

  it('is woken at once for a message, as a person wants it', () => {
    expect(plan({ agents, sessions: [asleep({ messages: 1 })] })).toContainEqual(expect.objectContaining({ do: 'wake', why: 'message' }));
  });

  it.each([
    ['is suspended', { blocked: 'agent base is suspended' }],
    ['cannot be started', { startable: () => false }],
  ])('stays down while the other one %s', (_, more) => {
    expect(plan({ agents: [top, agentOf('base', {}, more)], offered })).toEqual([]);
  });

  it('stays down while the other one may be started by a person only, or has failed', () => {
    for (const more of [
      { state: 'asleep', reason: 'auth-required' },
      { state: 'failed-create', stateAt: NOW },
    ] as const) {
      const one = sessionOf({ agent: 'base', agentName: 'base', slot: null, origin: 'manual', ...more });
      expect(plan({ agents: [top, agentOf('base', { max: 1 })], offered, sessions: [one] })).toEqual([]);
    }
  });
});

describe('an agent that others depend on', () => {
  const working = sessionOf({ agent: 'top', agentName: 'top-1', held: ['b-1'] });

  it('is not drained for idleness while one of them runs, but for that one session', () => {
    const idle = [1, 2].map((n) => sessionOf({ pk: n, agent: 'base', agentName: `base-${n}`, activityAt: NOW - 3_600_000 + n }));
    expect(plan({ agents, sessions: [...idle, working] })).toEqual([expect.objectContaining({ do: 'drain', pk: 1 })]);
    expect(plan({ agents, sessions: [idle[1]!, working] })).toEqual([]);
    expect(plan({ agents, sessions: [idle[1]!] })).toEqual([expect.objectContaining({ do: 'drain', pk: 2 })]);
  });

  it('does not fall asleep as a named session', () => {
    const named = [namedOf('store', 'on_demand', 'base')];
    const store = sessionOf({
      pk: 5,
      agent: 'base',
      agentName: null,
      slot: null,
      origin: 'named',
      identity: 'store',
      activityAt: NOW - 3_600_000,
    });
    expect(plan({ agents, named, sessions: [store, working] })).toEqual([]);
    expect(plan({ agents, named, sessions: [store] })).toEqual([{ do: 'sleep', pk: 5, reason: 'idle-timeout' }]);
  });

  it('is started again when it has ended under them', () => {
    expect(plan({ agents, sessions: [working] })).toEqual([created('base-1', 'dependency')]);
    const named = [namedOf('store', 'on_demand', 'base')];
    expect(plan({ agents, named, sessions: [working] })).toEqual([{ do: 'materialize', identity: 'store', why: 'dependency' }]);
    const store = { pk: 5, agent: 'base', agentName: null, slot: null, origin: 'named', identity: 'store', state: 'asleep' } as const;
    expect(plan({ agents, named, sessions: [sessionOf(store), working] })).toEqual([{ do: 'wake', pk: 5, why: 'dependency' }]);
    expect(plan({ agents, named, sessions: [sessionOf({ ...store, wake: 'dependency' }), working] })).toEqual([]);
  });
});

function asleep(more: Parameters<typeof sessionOf>[0]): ReturnType<typeof sessionOf> {
  return sessionOf({ agent: 'top', agentName: 'top-1', state: 'asleep', wake: null, ...more });
}
