import { describe, expect, it } from '@jest/globals';
import { plain, tableOf } from '../tree.js';
import { patchAgent } from './patch-agent.js';

const agent = tableOf(
  {
    name: 'a',
    nudge: 'n',
    args: ['-v'],
    pre_start: ['p'],
    inject_fragments: ['f'],
    env: { A: '1', B: '2' },
    option_defaults: { effort: 'low' },
  },
  { file: 'base' },
);

function patched(patch: object): unknown {
  return plain(patchAgent(agent, tableOf(patch, { file: 'patch' })));
}

describe('a patch of an agent', () => {
  it('replaces scalars, and leaves who the agent is', () => {
    expect(patched({ name: 'other', dir: 'mill', nudge: 'm' })).toEqual({ ...(plain(agent) as object), nudge: 'm' });
  });

  it('replaces lists that say something', () => {
    expect(patched({ pre_start: ['q'] })).toMatchObject({ pre_start: ['q'] });
    expect(patched({ pre_start: [] })).toMatchObject({ pre_start: ['p'] });
  });

  it.each(['args', 'inject_fragments'])('clears %s by an empty list', (key) => {
    expect(patched({ [key]: [] })).toMatchObject({ [key]: [] });
  });

  it('appends after what replaces, in whatever order they are written', () => {
    expect(patched({ pre_start_append: ['r'], pre_start: ['q'] })).toMatchObject({ pre_start: ['q', 'r'] });
    expect(patched({ session_live_append: ['r'] })).toMatchObject({ session_live: ['r'] });
  });

  it('merges maps, then takes names out of env', () => {
    expect(patched({ env: { B: '3', C: '4' }, env_remove: ['A', 'C'], option_defaults: { model: 'm' } })).toMatchObject({
      env: { B: '3' },
      option_defaults: { effort: 'low', model: 'm' },
    });
  });

  it('keeps the origin of every value', () => {
    const table = patchAgent(agent, tableOf({ pre_start_append: ['r'], env: { B: '3' } }, { file: 'patch' }));
    const list = table.get('pre_start');
    expect(list && 'items' in list && list.items.map((item) => item.origin.file)).toEqual(['base', 'patch']);
    expect(['A', 'B'].map((key) => table.table('env')!.get(key)!.origin.file)).toEqual(['base', 'patch']);
    expect(table.table('env')!.get('B')!.at).toBe('env.B');
  });
});
