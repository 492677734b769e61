import { describe, expect, it } from '@jest/globals';
import { filesOf } from '../config/documents.js';
import { dropProvider, hasProvider, meantIn, putProvider, uncoverProvider } from './provider-documents.js';

describe('a provider in a document', () => {
  it('is put with what is said, and merged into what is there', () => {
    const document: Record<string, unknown> = { workspace: { name: 'x' } };
    putProvider(document, 'team', { base: 'builtin:claude', args: ['-v'], args_append: null, env: { A: '1' } });
    expect(document).toEqual({ workspace: { name: 'x' }, providers: { team: { base: 'builtin:claude', args: ['-v'], env: { A: '1' } } } });
    putProvider(document, 'team', { args: null, args_append: ['-q'], env: { B: '2' }, command: '', option_defaults: { effort: 'low' } });
    expect(document.providers).toEqual({
      team: {
        base: 'builtin:claude',
        args: ['-v'],
        args_append: ['-q'],
        env: { A: '1', B: '2' },
        command: '',
        option_defaults: { effort: 'low' },
      },
    });
    expect(hasProvider(document, 'team')).toBe(true);
    expect(hasProvider(document, 'constructor')).toBe(false);
    dropProvider(document, 'team');
    expect(document).toEqual({ workspace: { name: 'x' } });
  });

  // Guard: a change that a patch hides would change nothing.
  it('is no longer hidden by what its patches say of what is changed', () => {
    const document: Record<string, unknown> = {
      patches: {
        agent: [{ name: 'team', provider: 'x' }],
        providers: [
          { name: 'team', command: 'a', args: ['-v'], env: { A: '1', B: '2' }, env_remove: ['C', 'D'] },
          { name: 'team', command: 'b' },
          { name: 'other', command: 'c' },
        ],
      },
    };
    expect(uncoverProvider(document, 'team', { prompt_mode: 'none', args: null })).toEqual([]);
    const hidden = uncoverProvider(document, 'team', { command: 'z', env: { A: '********', C: '5' }, base: 'x' });
    expect([...new Set(hidden)].sort()).toEqual(['command', 'env']);
    expect(document.patches).toEqual({
      agent: [{ name: 'team', provider: 'x' }],
      providers: [
        { name: 'team', args: ['-v'], env: { B: '2' }, env_remove: ['D'] },
        { name: 'other', command: 'c' },
      ],
    });
    expect(uncoverProvider(document, 'team', { args: ['-q'], env: { B: '3', D: '4' } })).toEqual(['args', 'env']);
    expect(uncoverProvider(document, 'other', { command: 'd' })).toEqual(['command']);
    expect(document.patches).toEqual({ agent: [{ name: 'team', provider: 'x' }] });
    const replaced = { patches: { providers: [{ name: 'team', _replace: true, command: 'a' }] } };
    expect(() => uncoverProvider(replaced, 'team', { command: 'z' })).toThrow('a patch takes the place of provider team');
  });

  // Guard: what is sent back masked is what was read, wherever that came from.
  it('keeps what a patch has said where that is sent back masked', () => {
    const body = { env: { A: '********' }, args: ['--token=********'] };
    const shown = { env: { A: 'of the patch' }, args: ['--token=x'] };
    expect(meantIn(body, new Set(['env']), shown)).toEqual({ ...body, env: shown.env });
    expect(() => meantIn(body, new Set(['args']), {})).toThrow('a masked value stands for the one that is stored');
  });

  // Guard: what is shown masked is never written as a value.
  it('keeps what it shows masked when that is sent back, and refuses a mask that stands for nothing', () => {
    const team = { command: 'run --token=one', args: ['--api-key', 'two', '-v', '--token=three'], env: { A: 'four' } };
    const document: Record<string, unknown> = { providers: { team: structuredClone(team) } };
    putProvider(document, 'team', {
      command: 'run --token=********',
      args: ['--token=********', '-q', '********'],
      env: { A: '********' },
    });
    expect(document.providers).toEqual({ team: { ...team, args: ['--token=three', '-q', 'two'] } });
    for (const body of [{ command: 'x ********' }, { args: ['-v', '--secret=********'] }, { env: { B: '********' } }])
      expect(() => putProvider(structuredClone(document), 'team', body)).toThrow('a masked value stands for the one that is stored');
    expect(() => putProvider({}, 'new', { args: ['********'] })).toThrow('a masked value stands for the one that is stored');
  });

  const ARGS = ['--verbose', '--token', 'T', '--password', 'P'];
  // Guard: a secret that is shown masked stays with its flag.
  it.each([
    ['with a flag in front', ['--fast', '--verbose', '--token', '********', '--password', '********'], ['--fast', ...ARGS]],
    ['without another one', ['--verbose', '--password', '********'], ['--verbose', '--password', 'P']],
    ['the other way round', ['--password', '********', '--token', '********'], ['--password', 'P', '--token', 'T']],
    ['beside a new one', ['--token', 'N', '--password', '********'], ['--token', 'N', '--password', 'P']],
  ])('keeps each masked secret with its flag when the list is sent back %s', (_, args, meant) => {
    const document: Record<string, unknown> = { providers: { team: { args: [...ARGS] } } };
    putProvider(document, 'team', { args });
    expect(document.providers).toEqual({ team: { args: meant } });
  });

  it.each([
    [
      'in another place',
      ['-q', '--key', '1', '--key', '2'],
      ['--key', '********', '--key', '********', '-q'],
      ['--key', '1', '--key', '2', '-q'],
    ],
    ['behind a new one', ['--key=1', '--key=2'], ['--key=new', '--key=********', '--key=********'], ['--key=new', '--key=1', '--key=2']],
    ['one less of the same', ['--key', '1', '--key', '1'], ['--key', '********'], ['--key', '1']],
  ])('takes secrets of flags that are said twice in their order: %s', (_, stored, args, meant) => {
    const shown = (list: string[]): string[] => list.map((item) => item.replaceAll('key', 'api-key'));
    const document: Record<string, unknown> = { providers: { team: { args: shown(stored) } } };
    putProvider(document, 'team', { args: shown(args) });
    expect(document.providers).toEqual({ team: { args: shown(meant) } });
  });

  // Guard: a masked secret is taken for no other one.
  it.each([
    ['a flag that is not there', ARGS, ['--verbose', '--secret', '********']],
    ['a flag that was said twice', ['--token', '1', '--token', '2'], ['--token', '********', '-x', '-y']],
    ['a flag with its value', ['-v', '--token=1', '--token=2'], ['-v', '--token=********']],
    ['a new one, which may stand for either', ['--token', '1', '--token', '2'], ['--token', 'new', '--token', '********']],
    ['a new one with its flag', ['--token=1', '--token=2'], ['--token=new', '--token=********']],
    ['nothing, with a new one', ['ghp_abcdefghijklmnopqrst1', 'ghp_abcdefghijklmnopqrst2'], ['********', 'ghp_abcdefghijklmnopqrst3']],
    ['nothing', ['ghp_abcdefghijklmnopqrst1', 'ghp_abcdefghijklmnopqrst2'], ['********']],
  ])('refuses a masked secret that may be several ones, behind %s', (_, stored, args) => {
    const document = { providers: { team: { args: [...stored] } } };
    expect(() => putProvider(document, 'team', { args })).toThrow('there are several');
    expect(document).toEqual({ providers: { team: { args: stored } } });
  });

  it('is not looked for in what objects have by themselves', () => {
    const document: Record<string, unknown> = {};
    putProvider(document, 'constructor', { command: 'x' });
    expect(Object.keys(document.providers as object)).toEqual(['constructor']);
    expect((document.providers as Record<string, unknown>).constructor).toEqual({ command: 'x' });
  });

  it('is refused where the file holds something else', () => {
    expect(() => putProvider({ providers: [1] }, 'x', { command: 'x' })).toThrow('providers is no table');
    expect(() => putProvider({ providers: { x: 1 } }, 'x', { command: 'x' })).toThrow('x is no table');
    expect(() => putProvider({ providers: { x: { env: '' } } }, 'x', { env: { A: '1' } })).toThrow('env is no table');
    expect(hasProvider({ providers: 3 }, 'x')).toBe(false);
    expect(() => dropProvider({ providers: 3 }, 'x')).not.toThrow();
  });

  it('may stand in the root pack, the city and its fragments', () => {
    expect(filesOf({})).toEqual(['pack.toml', 'city.toml']);
    expect(filesOf({ include: ['a.toml', 3, '//b/c.toml'] })).toEqual(['pack.toml', 'city.toml', 'a.toml', 'b/c.toml']);
    expect(filesOf({ include: 'a.toml' })).toEqual(['pack.toml', 'city.toml']);
  });
});
