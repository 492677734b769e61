import { describe, expect, it } from '@jest/globals';
import type { AgentConfig, CityConfig } from '../../files/composition/city-config.js';
import { usersOf } from './agent-users.js';

const agent = (name: string, more: object = {}): AgentConfig =>
  ({ name, qualified_name: name, dir: '', binding: '', origin: 'folder', source: `agents/${name}`, ...more }) as AgentConfig;

const builder = agent('builder');
const here = agent('builder', { qualified_name: 'web/builder', dir: 'web' });
const bound = agent('builder', { qualified_name: 'web/desk.builder', dir: 'web', binding: 'desk' });

function configOf(agents: readonly AgentConfig[], more: object = {}): CityConfig {
  return {
    agents,
    named_sessions: [],
    rigs: [],
    ...more,
    patches: { agent: [], ...(more as { patches?: object }).patches },
  } as unknown as CityConfig;
}

describe('who names an agent', () => {
  it('is told in words, everybody once', () => {
    const config = configOf([builder, agent('helper', { depends_on: ['builder', 'builder'] }), agent('else', { depends_on: ['helper'] })], {
      named_sessions: [
        { qualified_name: 'front', template: 'builder', dir: '' },
        { qualified_name: 'web/front', template: 'builder', dir: 'web' },
        { qualified_name: 'other', template: 'helper', dir: '' },
      ],
      rigs: [
        { name: 'web', default_sling_target: 'builder' },
        { name: 'docs', default_sling_targets: ['helper', 'builder'] },
        { name: 'quiet', default_sling_target: 'helper' },
      ],
      extmsg: { default_route: [{ agent: 'helper' }, { agent: 'builder' }] },
      patches: { agent: [{ name: 'builder' }, { name: 'helper' }, { dir: 'web', name: 'builder' }] },
    });
    expect(usersOf(config, [builder])).toEqual([
      'named session front',
      'named session web/front',
      'agent helper',
      'the sling target of rig web',
      'the sling target of rig docs',
      'a default route of extmsg',
      'the patch of agent builder',
    ]);
  });

  it('means the nearest agent of a name', () => {
    const more = {
      named_sessions: [{ qualified_name: 'web/front', template: 'builder', dir: 'web' }],
      rigs: [{ name: 'web', patches: [{ agent: 'builder' }], default_sling_target: 'desk.builder' }],
    };
    expect(usersOf(configOf([builder, here], more), [builder])).toEqual([]);
    expect(usersOf(configOf([builder, here], more), [here])).toEqual(['named session web/front', 'a patch of rig web']);
    expect(usersOf(configOf([builder, here, bound], more), [bound])).toEqual(['the sling target of rig web', 'a patch of rig web']);
    expect(usersOf(configOf([agent('web/x', { depends_on: ['builder'], dir: 'web', binding: 'desk' }), bound, here]), [here])).toEqual([]);
  });

  it('does not count those that go too', () => {
    const rigs = ['web', 'docs'].map((dir) => agent('x', { qualified_name: `${dir}/x`, dir, depends_on: ['web/x'] }));
    expect(usersOf(configOf(rigs), rigs)).toEqual([]);
    expect(usersOf(configOf(rigs), [rigs[0]!])).toEqual(['agent docs/x']);
  });

  it('is a patch by the bare name when nobody else has it', () => {
    const patches = { agent: [{ name: 'builder' }] };
    expect(usersOf(configOf([here], { patches }), [here])).toEqual(['the patch of agent builder']);
    expect(usersOf(configOf([here, bound], { patches }), [here])).toEqual([]);
  });
});
