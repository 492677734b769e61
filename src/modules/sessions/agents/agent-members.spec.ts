import { describe, expect, it } from '@jest/globals';
import type { AgentConfig, CityConfig } from '../../files/composition/city-config.js';
import { findMember, findUnbounded, membersOf } from './agent-members.js';

function agent(qualified: string, more: Partial<AgentConfig> = {}): AgentConfig {
  const [, dir = '', binding = '', name = ''] = /^(?:([^/]*)\/)?(?:([^.]*)\.)?(.*)$/.exec(qualified)!;
  return { name, qualified_name: qualified, dir, binding, origin: 'folder', source: `agents/${name}`, ...more };
}

const names = (one: AgentConfig): string[] => [...membersOf(one)].map((member) => member.name);

describe('the members of an agent', () => {
  it.each<[string, Partial<AgentConfig>, string[]]>([
    ['no bound', {}, ['web/desk.builder']],
    ['no limit', { max_active_sessions: -1, namepool: ['ash'] }, ['web/desk.builder']],
    ['none at all', { max_active_sessions: 0 }, ['web/desk.builder']],
    ['one', { max_active_sessions: 1, namepool: ['ash'] }, ['web/desk.builder']],
    ['a bound', { max_active_sessions: 3 }, ['web/desk.builder-1', 'web/desk.builder-2', 'web/desk.builder-3']],
    ['names', { max_active_sessions: 3, namepool: ['ash', 'elm'] }, ['web/desk.ash', 'web/desk.elm', 'web/desk.builder-3']],
    ['more names than room', { max_active_sessions: 2, namepool: ['ash', 'elm', 'oak'] }, ['web/desk.ash', 'web/desk.elm']],
  ])('with %s', (_, more, expected) => {
    expect(names(agent('web/desk.builder', more))).toEqual(expected);
  });

  it('name their pool', () => {
    expect([...membersOf(agent('a', { max_active_sessions: 2 }))].map(({ pool }) => pool)).toEqual(['a', 'a']);
    expect([...membersOf(agent('a'))][0]).not.toHaveProperty('pool');
  });

  it('are made one at a time', () => {
    const all = membersOf(agent('a', { max_active_sessions: Number.MAX_SAFE_INTEGER }));
    expect(all.next().value).toMatchObject({ name: 'a-1' });
  });
});

describe('an agent of a path', () => {
  const agents = [
    agent('mayor'),
    agent('core.worker'),
    agent('web/core.worker'),
    agent('web/polecat', { max_active_sessions: 12, namepool: ['ash', 'elm'] }),
    agent('docs/polecat'),
    agent('scout', { max_active_sessions: -1 }),
    agent('web/only'),
    agent('web/polecat-3', { max_active_sessions: 5 }),
    agent('a-1', { max_active_sessions: 2 }),
  ];
  const config = { agents } as unknown as CityConfig;
  const found = (dir: string, base: string): unknown => {
    const member = findMember(config, dir, base);
    return member && [member.name, member.agent.qualified_name, member.pool];
  };

  it.each([
    ['its name', '', 'mayor', 'mayor'],
    ['its name with the import', '', 'core.worker', 'core.worker'],
    ['its rig', 'web', 'polecat', 'web/polecat'],
    ['rig and import', 'web', 'core.worker', 'web/core.worker'],
    ['both in one parameter', '', 'web/polecat', 'web/polecat'],
    ['its bare name in the rig', 'web', 'worker', 'web/core.worker'],
    ['its bare name in the city itself', '', 'worker', 'core.worker'],
    ['its bare name, the only one anywhere', '', 'only', 'web/only'],
    ['its own name before the number of another', 'web', 'polecat-3', 'web/polecat-3'],
  ])('is found by %s', (_, dir, base, qualified) => {
    expect(found(dir, base)).toEqual([qualified, qualified, undefined]);
  });

  it.each([
    ['a number', 'web', 'polecat-12', 'web/polecat'],
    ['a name', 'web', 'ash', 'web/polecat'],
    ['a number after a number', '', 'a-1-2', 'a-1'],
  ])('is found as a member by %s', (_, dir, base, pool) => {
    expect(found(dir, base)).toEqual([dir === '' ? base : `${dir}/${base}`, pool, pool]);
  });

  it.each([
    ['', 'nobody'],
    ['', 'polecat'],
    ['nowhere', 'mayor'],
    ['web', 'mayor'],
    ['web', 'polecat-13'],
    ['web', 'polecat-0'],
    ['web', 'polecat-01'],
    ['web', 'polecat-1'],
    ['web', 'polecat-99999999999999999999'],
    ['', 'scout-1'],
    ['', 'ash'],
    ['', '__proto__'],
    ['', 'mayor\0'],
    ['', '-'.repeat(512)],
  ])('is not found by %j %j', (dir, base) => {
    expect(found(dir, base)).toBeUndefined();
  });

  it.each([
    ['scout-1', 'scout'],
    ['web/polecat-13', 'web/polecat'],
    ['web/ash', 'web/polecat'],
  ])('is found whatever the bound of its pool is: %s', (name, pool) => {
    expect(findUnbounded(config, name)).toMatchObject({ name, pool, agent: { qualified_name: pool } });
  });

  it.each(['scout', 'scout-0', 'scout-01', 'web/polecat-1', 'scout-1234567890', 'nobody-1'])('is no member: %s', (name) => {
    expect(findUnbounded(config, name)).toBeUndefined();
  });
});

it('agents are found among thousands without going over them each time', () => {
  let reads = 0;
  const counted = (n: number): AgentConfig => {
    const name = `web/a${n}`;
    const get = (): string => {
      // Who goes over all for each would not end.
      if (++reads > 100_000) throw new Error('qualified names are read over and over');
      return name;
    };
    return Object.defineProperty(agent(name, { max_active_sessions: 4, namepool: [`own${n}`] }), 'qualified_name', { get });
  };
  const config = { agents: Array.from({ length: 5_000 }, (_, n) => counted(n)) } as unknown as CityConfig;
  const found = config.agents.map((_, n) => [
    findMember(config, 'web', `a${n}`),
    findMember(config, 'web', `a${n}-2`),
    findMember(config, 'web', `own${n}`),
    findMember(config, '', `a${n}`),
  ]);
  expect(found.every((all, n) => all.every((member) => member?.agent === config.agents[n]))).toBe(true);
});
