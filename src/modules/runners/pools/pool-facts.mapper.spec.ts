import { describe, expect, it } from '@jest/globals';
import type { CityConfig } from '../../files/composition/city-config.js';
import { factsOf, type Loaded } from './pool-facts.mapper.js';
import type { PoolFacts } from './pool-facts.js';
import { poolPlan } from './pool-plan.js';
import { NOW } from './testing/facts.js';
import { starts } from './testing/plans.js';

type Members = Readonly<Record<string, unknown>>;

function factsFor(agents: readonly Members[], routes: readonly string[], more: Members = {}): PoolFacts {
  const all = agents.map((agent) => ({ name: agent.qualified_name, dir: '', ...agent }));
  const config = { workspace: {}, rigs: [], named_sessions: [], agents: all, ...more } as unknown as CityConfig;
  return factsOf({
    ...{ now: NOW, config, blockers: () => undefined, sessions: [], assigned: [], scale: new Map() },
    offered: routes.map((route) => ({ route, id: `b-${route}`, at: new Date(NOW - 60_000) })),
    ended: { emptyRuns: new Map(), idleRuns: new Map() },
    fingerprint: () => undefined,
    startHash: () => undefined,
  } as Loaded);
}

describe('members of pools', () => {
  it('are looked for in all pools that may have them, in their order', () => {
    const { agents, poolsOf } = factsFor(
      [
        { qualified_name: 'hands', max_active_sessions: 3, namepool: ['a-1', 'kit', 'a-4'] },
        { qualified_name: 'a' },
        { qualified_name: 'a-2' },
        { qualified_name: 'b', max_active_sessions: 2, namepool: ['kit', 'b-2'] },
        { qualified_name: 'north/c', name: 'c', dir: 'north', namepool: ['ann'], max_active_sessions: 2 },
      ],
      [],
    );
    const names = ['a', 'a-1', 'a-2', 'a-3', 'a-4', 'a-2-1', 'kit', 'b-1', 'b-2', 'b-9', 'hands-1', 'hands-4', 'c-1', 'north/ann', 'ann'];
    const found = [...names, 'north/c-1', 'north/c-2', 'nobody', 'a-', 'a-01', '-1'].flatMap((name) => {
      const those = (among: typeof agents): string[] => among.filter(({ slotOf }) => slotOf(name) !== undefined).map((agent) => agent.name);
      const asked = poolsOf(name).map((pool) => agents.find((agent) => agent.name === pool)!);
      expect([name, those(asked)]).toEqual([name, those(agents)]);
      return those(asked).map((pool) => `${name} of ${pool}`);
    });
    expect(found).toEqual(
      expect.arrayContaining(['a-1 of hands', 'a-1 of a', 'a-3 of a', 'kit of hands', 'b-2 of b', 'north/ann of north/c']),
    );
  });

  // Guard: a look at a large city takes a part of a second.
  it('are asked for once a route, and not of each agent', () => {
    const names = Array.from({ length: 2_000 }, (_, n) => `agent${n}`);
    const routes = names.slice(0, 500).map((name) => `${name}-1`);
    const facts = factsFor(
      names.map((qualified_name) => ({ qualified_name })),
      routes,
    );
    let asked = 0;
    const agents = facts.agents.map((agent) => ({
      ...agent,
      slotOf: (name: string) => (asked++, agent.slotOf(name)),
      startable: () => true,
    }));
    const { decisions } = poolPlan({ ...facts, agents });
    expect(starts(decisions).map((one) => 'name' in one && one.name)).toEqual(routes.slice(0, 5));
    expect(asked).toBe(500);
  });

  it('find the settings of their rigs without going over all of them', () => {
    let reads = 0;
    const rigs = Array.from({ length: 1_000 }, (_, n) => ({
      get name() {
        reads++;
        return `r${n}`;
      },
      session_sleep: { interactive_resume: `${n + 1}s` },
    }));
    const own = rigs.map((_, n) => ({ qualified_name: `r${n}/a`, name: 'a', dir: `r${n}` }));
    const { agents } = factsFor(own, [], { rigs });
    expect([agents[0]!.settings.idleMs, agents[999]!.settings.idleMs]).toEqual([1_000, 1_000_000]);
    expect(reads).toBeLessThan(10_000);
  });
});
