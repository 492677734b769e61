import { describe, expect, it } from '@jest/globals';
import type { CityConfig } from '../../files/composition/city-config.js';
import { changesOf, keysBetween } from './changes.js';

const PATCHES = { agent: [], rigs: [], providers: [], named_session: [], github_pr_monitor: [] };

function city(providers: string): CityConfig {
  const lists = { agents: [], rigs: [], named_sessions: [], formulas: [], order_files: [], commands: [], doctor_checks: [] };
  return { ...lists, imports: {}, patches: PATCHES, providers: JSON.parse(providers) as object } as unknown as CityConfig;
}

describe('what two configurations have differently', () => {
  // Guard: names that objects have by themselves are names.
  it.each(['constructor', 'toString', '__proto__', 'hasOwnProperty'])('is told of a provider that is called %s', (name) => {
    const [without, with1, with2] = ['{}', `{"${name}":{"command":"x"}}`, `{"${name}":{"command":"y"}}`].map(city);
    const change = { of: 'provider', name, changed: ['command'] };
    expect(changesOf(without!, with1!)).toEqual([{ ...change, kind: 'created' }]);
    expect(changesOf(with1!, with2!)).toEqual([{ ...change, kind: 'updated' }]);
    expect(changesOf(with1!, without!)).toEqual([{ ...change, kind: 'deleted' }]);
    const keys = [`providers.${name}.command`];
    expect([keysBetween(without!, with1!), keysBetween(with1!, with2!), keysBetween(with1!, without!)]).toEqual([keys, keys, keys]);
  });
});
