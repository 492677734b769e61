import { describe, expect, it } from '@jest/globals';
import type { AgentConfig } from '../../files/composition/city-config.js';
import type { Document } from '../../configuration/config/documents.js';
import { changeTable, dropTable, isOfAllRigs, uncover } from './agent-documents.js';

const agent = (name: string, dir = ''): AgentConfig =>
  ({ name, dir, qualified_name: dir === '' ? name : `${dir}/${name}`, binding: '', origin: 'inline', source: 'pack.toml' }) as AgentConfig;

const document = (): Document => ({
  agent: [{ name: 'a' }, { name: 'b', scope: 'rig' }, { name: 'b', dir: 'web' }, { name: 'a', dir: 'web', provider: 'x' }],
});

describe('an agent in a file', () => {
  it('is changed where it stands, null taking keys out', () => {
    const file = document();
    changeTable(file, agent('a', 'web'), new Map<string, string | null>([['provider', null], ['description', 'new']])); // prettier-ignore
    expect(file.agent).toEqual([...(document().agent as object[]).slice(0, 3), { name: 'a', dir: 'web', description: 'new' }]);
  });

  it('is taken out, and the list with the last one', () => {
    const file = document();
    for (const [name, dir] of [['b', 'docs'], ['a', 'web'], ['b', 'web']] as const) dropTable(file, agent(name, dir)); // prettier-ignore
    expect(file).toEqual({ agent: [{ name: 'a' }] });
    dropTable(file, agent('a'));
    expect(file).toEqual({});
  });

  it('may stand for all rigs', () => {
    expect(isOfAllRigs(document(), agent('b', 'docs'))).toBe(true);
    expect(isOfAllRigs(document(), agent('b', 'web'))).toBe(false);
    expect(isOfAllRigs(document(), agent('a'))).toBe(false);
  });

  it.each([{}, { agent: 'a' }, { agent: [1, null, 'a'] }, { agent: [{ name: 'other' }] }])('may be gone from %j', (file) => {
    expect(() => dropTable(file as Document, agent('a'))).toThrow(/^conflict: agent a is not in pack.toml any more/);
  });
});

describe('patches that hide a change', () => {
  const patched = (): Document => ({
    include: ['x'],
    patches: {
      agent: [
        { name: 'a', provider: 'x', nudge: 'n' },
        { dir: 'web', name: 'a', provider: 'x' },
        { name: 'b', provider: 'x' },
      ],
    },
  });

  it('lose the changed keys, and go when they say nothing any more', () => {
    const file = patched();
    expect(uncover(file, agent('a'), ['provider'])).toBe(true);
    expect(uncover(file, agent('a', 'web'), ['scope', 'provider'])).toBe(true);
    expect(file).toEqual({
      include: ['x'],
      patches: {
        agent: [
          { name: 'a', nudge: 'n' },
          { name: 'b', provider: 'x' },
        ],
      },
    });
    expect(uncover(file, agent('a'), ['nudge'])).toBe(true);
    expect(uncover(file, agent('b'), ['provider'])).toBe(true);
    expect(file).toEqual({ include: ['x'] });
  });

  it('stay when they say something else', () => {
    const file = patched();
    expect(uncover(file, agent('a'), ['scope'])).toBe(false);
    expect(uncover(file, agent('c'), ['provider'])).toBe(false);
    for (const odd of [{}, { patches: 1 }, { patches: { agent: 'x' } }, { patches: { agent: [1, {}] } }])
      expect(uncover(odd, agent('a'), ['provider'])).toBe(false);
    expect(file).toEqual(patched());
  });
});
