import { expect, it } from '@jest/globals';
import type { CityConfig } from '../../files/composition/city-config.js';
import { startHash } from './start-hash.js';

const row = { kind: 'provider', template: 'mine', options: {} } as const;

function configWith(spec: object, more: object = {}): CityConfig {
  const mine = { base: '', command: 'agent', ...spec };
  return {
    ...{ workspace: {}, agents: [], named_sessions: [], rigs: [], upstreams: {} },
    ...{ providers: { mine }, resolved_providers: { mine } },
    ...more,
  } as unknown as CityConfig;
}

const before = startHash(configWith({ env: { API_KEY: 'old' } }), row);

it('is the same for the same start', () => {
  expect(before).toMatch(/^[0-9a-f]{64}$/);
  expect(startHash(configWith({ env: { API_KEY: 'old' } }), row)).toBe(before);
  expect(startHash(configWith({ env: { API_KEY: 'old' } }, { daemon: { patrol_interval: '5s' } }), row)).toBe(before);
});

it.each([
  ['a command', configWith({ env: { API_KEY: 'old' }, command: 'other' })],
  ['a credential', configWith({ env: { API_KEY: 'new' } })],
  ['the time that a start may take', configWith({ env: { API_KEY: 'old' } }, { session: { startup_timeout: '5m' } })],
])('is another one with %s', (_, config) => expect(startHash(config, row)).not.toBe(before));

it('is none for what is configured no longer', () => {
  expect(startHash(configWith({}), { ...row, template: 'gone' })).toBeUndefined();
});
