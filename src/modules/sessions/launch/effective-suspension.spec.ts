import { describe, expect, it } from '@jest/globals';
import type { CityConfig } from '../../files/composition/city-config.js';
import { blockersOf } from './effective-suspension.js';

const config = {
  agents: [{ qualified_name: 'web/hand' }, { qualified_name: 'boss', suspended: true }],
  rigs: [
    { name: 'web', suspended_on_start: false },
    { name: 'core', suspended_on_start: true },
  ],
} as unknown as CityConfig;
const blockers = (agents: [string, boolean][] = [], rigs: [string, boolean][] = [], city = false) =>
  blockersOf({ switches: { agents: new Map(agents), rigs: new Map(rigs), city }, config });

describe('effective suspension', () => {
  it.each([
    ['nothing', blockers(), 'web/hand', 'web', undefined],
    ['the files', blockers(), 'boss', '', 'agent boss is suspended'],
    ['the switch against the files', blockers([['boss', false]]), 'boss', '', undefined],
    ['the switch', blockers([['web/hand', true]]), 'web/hand', 'web', 'agent web/hand is suspended'],
    ['the rig', blockers([], [['web', true]]), 'web/hand', 'web', 'rig web is suspended'],
    ['the files of a rig', blockers(), undefined, 'core', 'rig core is suspended'],
    ['the switch of a rig against them', blockers([], [['core', false]]), undefined, 'core', undefined],
    ['the city', blockers([], [], true), undefined, '', 'the city is suspended'],
    ['the narrowest first', blockers([['web/hand', true]], [['web', true]], true), 'web/hand', 'web', 'agent web/hand is suspended'],
    ['an agent that is gone', blockers(), 'nobody', '', 'agent nobody is not configured any more'],
  ] as const)('%s', (_, of, agent, rig, reason) => expect(of(agent, rig)).toBe(reason));

  it('without a configuration only switches count', () => {
    const of = blockersOf({ switches: { agents: new Map([['a', true]]), rigs: new Map(), city: false } });
    expect([of('a', ''), of('b', '')]).toEqual(['agent a is suspended', undefined]);
  });
});
