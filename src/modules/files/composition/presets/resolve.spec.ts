import { describe, expect, it } from '@jest/globals';
import { describeIssue, type Issue } from '../issue.js';
import { placesOf, plain, tableOf, type Table } from '../tree.js';
import { PRESETS } from './presets.js';
import { resolveProviders } from './resolve.js';

type Spec = Record<string, unknown>;

function resolve(providers: Record<string, Spec>): { table: Table; specs: Record<string, Spec>; told: string[] } {
  const issues: Issue[] = [];
  const table = resolveProviders(tableOf(providers, { file: 'city.toml' }, 'providers'), issues);
  return { table, specs: plain(table) as Record<string, Spec>, told: issues.map(describeIssue) };
}

const option = (key: string, values: string[], more: Spec = {}): Spec => ({
  key,
  label: key,
  type: 'select',
  choices: values.map((value) => ({ value, label: value, flag_args: [] })),
  ...more,
});
const keysOf = (spec: Spec | undefined): unknown[] => (spec!['options_schema'] as Spec[]).map(({ key }) => key);

describe('bases', () => {
  it('takes the builtin of the same name when no base is written', () => {
    const { specs, told } = resolve({ codex: { ready_delay_ms: 1 } });
    expect(told).toEqual([]);
    expect(specs['codex']).toEqual({ ...PRESETS['codex'], ready_delay_ms: 1 });
  });

  it('takes nothing for an empty base, also under the name of a builtin', () => {
    expect(resolve({ codex: { base: '', command: 'mine' } }).specs['codex']).toEqual({ base: '', command: 'mine' });
  });

  it('takes nothing without a base under a name of its own', () => {
    expect(resolve({ mine: { command: 'mine' } }).specs['mine']).toEqual({ command: 'mine' });
  });

  it('prefers the catalogue for a bare name and says which with a prefix', () => {
    const { specs, told } = resolve({
      gemini: { display_name: 'Ours' },
      bare: { base: 'gemini' },
      builtin: { base: 'builtin:gemini' },
      custom: { base: 'provider:gemini' },
      other: { base: 'grok' },
    });
    expect(told).toEqual([]);
    expect(['bare', 'builtin', 'custom', 'other'].map((name) => specs[name]!['display_name'])).toEqual([
      'Ours',
      'Gemini CLI',
      'Ours',
      'Grok',
    ]);
    expect(specs['bare']!['base']).toBe('gemini');
  });

  it('takes the builtin when a provider names itself', () => {
    const { specs, told } = resolve({ grok: { base: 'grok', ready_delay_ms: 5 } });
    expect(told).toEqual([]);
    expect(specs['grok']).toMatchObject({ command: 'grok', ready_delay_ms: 5 });
  });

  it('follows a chain whatever the order of the providers', () => {
    const providers = { c: { base: 'b', args_append: ['3'] }, b: { base: 'a', args_append: ['2'] }, a: { command: 'a', args: ['1'] } };
    const { specs, told } = resolve(providers);
    expect(told).toEqual([]);
    expect(specs['c']).toEqual({ base: 'b', command: 'a', args: ['1', '2', '3'] });
    expect(resolve({ a: providers.a, b: providers.b, c: providers.c }).specs).toEqual(specs);
    expect(Object.keys(specs)).toEqual(['c', 'b', 'a']);
  });

  it('does not hand down the base itself', () => {
    expect(resolve({ a: { base: 'builtin:pi' }, codex: { base: 'provider:a' } }).specs['codex']!['base']).toBe('provider:a');
    expect(resolve({ a: { base: '', command: 'x' }, b: { base: 'a' } }).specs['b']!['base']).toBe('a');
  });

  it('tells unknown bases with what there is, and leaves out what builds on them', () => {
    const { specs, told } = resolve({
      good: { command: 'x' },
      one: { base: 'nope' },
      two: { base: 'builtin:good' },
      three: { base: 'provider:codex' },
      four: { base: 'one' },
      five: { base: 'builtin:__proto__' },
      six: { base: 'provider:' },
    });
    expect(Object.keys(specs)).toEqual(['good']);
    expect(told).toHaveLength(5);
    expect(told[0]).toMatch(
      /^city\.toml: providers\.one\.base: names no provider \(accepted: five, four, good, six, .*builtin:claude, .*builtin:loopback\)$/,
    );
    expect(told[1]).toMatch(/^city\.toml: providers\.two\.base: names no provider \(accepted: builtin:claude, .*\)$/);
    expect(told[2]).toBe('city.toml: providers.three.base: names no provider (accepted: five, four, good, one, six, two)');
    expect(told.join()).not.toContain('nope');
  });

  it('tells every circle once, from its smallest name on, and leaves out what leads into it', () => {
    const circle = (specs: Record<string, Spec>): string[] => resolve(specs).told;
    const all = { z: { base: 'y' }, y: { base: 'x' }, x: { base: 'y' }, self: { base: 'provider:self' }, ok: { command: 'ok' } };
    expect(circle(all)).toEqual([
      'city.toml: providers.x.base: is in a circle: x -> y -> x',
      'city.toml: providers.self.base: is in a circle: self -> self',
    ]);
    expect(circle({ self: all.self, x: all.x, y: all.y, z: all.z, ok: all.ok }).sort()).toEqual(circle(all).sort());
    expect(Object.keys(resolve(all).specs)).toEqual(['ok']);
  });

  it('ends chains that are too long, without running out of stack', () => {
    const chain = Object.fromEntries(Array.from({ length: 20_000 }, (_, n) => [`p${n}`, { base: `p${n + 1}` }]));
    const { specs, told } = resolve({ ...chain, p20000: { command: 'x' } });
    expect(Object.keys(specs)).toHaveLength(16);
    expect(told).toEqual(['city.toml: providers.p19984.base: builds on more than 16 others']);
  });

  it('takes names that objects treat specially', () => {
    const providers = JSON.parse('{"__proto__":{"command":"x"},"constructor":{"base":"__proto__"}}') as Record<string, Spec>;
    const { table, told } = resolve(providers);
    expect(told).toEqual([]);
    expect([...table.entries.keys()]).toEqual(['__proto__', 'constructor']);
    expect(table.table('constructor')!.text('command')).toBe('x');
  });
});

describe('values', () => {
  it('replaces and appends arguments', () => {
    const { specs } = resolve({
      a: { base: 'builtin:copilot' },
      b: { base: 'builtin:copilot', args: ['x'] },
      c: { base: 'builtin:copilot', args_append: ['y'] },
      d: { base: 'builtin:copilot', args: ['x'], args_append: ['y'] },
      e: { base: 'builtin:copilot', args: [] },
      f: { base: 'builtin:claude', args_append: ['y'] },
    });
    expect(['a', 'b', 'c', 'd', 'e', 'f'].map((name) => specs[name]!['args'])).toEqual([
      ['--yolo'],
      ['x'],
      ['--yolo', 'y'],
      ['x', 'y'],
      [],
      ['y'],
    ]);
    expect(specs['c']).not.toHaveProperty('args_append');
  });

  it('merges maps key by key and replaces lists', () => {
    const { specs } = resolve({
      base: {
        command: 'b',
        env: { A: '1', B: '1' },
        permission_modes: { plan: 'p' },
        upstream_env: { base_url: 'U' },
        process_names: ['b'],
      },
      mine: { base: 'base', env: { B: '2' }, permission_modes: { auto: 'a' }, upstream_env: { api_key: 'K' }, process_names: ['m'] },
      empty: { base: 'base', env: {} },
    });
    expect(specs['mine']).toMatchObject({
      env: { A: '1', B: '2' },
      permission_modes: { plan: 'p', auto: 'a' },
      upstream_env: { base_url: 'U', api_key: 'K' },
      process_names: ['m'],
    });
    expect(specs['empty']!['env']).toEqual({ A: '1', B: '1' });
  });

  it('keeps where every value was written', () => {
    const providers = {
      team: {
        base: 'builtin:opencode',
        args_append: ['-v'],
        env: { X: '1' },
        options_schema: [option('voice', ['a'])],
        options_schema_merge: 'by_key',
      },
    };
    const { table } = resolve(providers);
    const places = new Map(placesOf(table).map(({ path, file, at }) => [path, `${file} ${at}`]));
    expect(places.get('team.command')).toBe('builtin:opencode command');
    expect(places.get('team.args[0]')).toBe('city.toml providers.team.args_append[0]');
    expect(places.get('team.env.OPENCODE_PERMISSION')).toBe('builtin:opencode env.OPENCODE_PERMISSION');
    expect(places.get('team.env.X')).toBe('city.toml providers.team.env.X');
    expect(places.get('team.options_schema[0].key')).toBe('builtin:opencode options_schema[0].key');
    expect(places.get('team.options_schema[1].key')).toBe('city.toml providers.team.options_schema[0].key');
  });

  it('refuses a catalogue that inherits more than fits, soon', () => {
    const big = Object.fromEntries(Array.from({ length: 50_000 }, (_, n) => [`K${n}`, '1']));
    const children = Object.fromEntries(Array.from({ length: 5_000 }, (_, n) => [`c${n}`, { base: 'big', env: { X: '1' } }]));
    const { told, specs } = resolve({ big: { command: 'x', env: big }, ...children });
    expect(told).toEqual(['city.toml: providers: has more than 200000 values with what its providers inherit']);
    expect(Object.keys(specs).length).toBeLessThan(5);
  });
});

describe('options', () => {
  const base = {
    command: 'b',
    options_schema: [option('model', ['s', 'm']), option('effort', ['low', 'high'])],
    option_defaults: { model: 's', effort: 'low' },
  };

  it('are replaced unless they are merged by key', () => {
    const { specs, told } = resolve({
      base,
      same: { base: 'base' },
      replaced: { base: 'base', options_schema: [option('voice', ['x'])] },
      merged: { base: 'base', options_schema_merge: 'by_key', options_schema: [option('voice', ['x']), option('model', ['xl'])] },
      less: { base: 'base', options_schema_merge: 'by_key', options_schema: [{ key: 'effort', omit: true }] },
      none: { base: 'base', options_schema: [] },
    });
    expect(told).toEqual([]);
    expect(keysOf(specs['same'])).toEqual(['model', 'effort']);
    expect(keysOf(specs['replaced'])).toEqual(['voice']);
    expect(keysOf(specs['merged'])).toEqual(['model', 'effort', 'voice']);
    expect((specs['merged']!['options_schema'] as { choices: Spec[] }[])[0]!.choices).toHaveLength(1);
    expect(keysOf(specs['less'])).toEqual(['model']);
    expect(specs['none']!['options_schema']).toEqual([]);
  });

  it('drops inherited defaults that nothing answers to any more', () => {
    const { specs, told } = resolve({
      base,
      merged: { base: 'base', options_schema_merge: 'by_key', options_schema: [option('model', ['xl'])] },
      none: { base: 'base', options_schema: [] },
    });
    expect(told).toEqual([]);
    expect(specs['merged']!['option_defaults']).toEqual({ effort: 'low' });
    expect(specs['none']).not.toHaveProperty('option_defaults');
  });

  it('tells defaults for unknown options and values with what is accepted, and not the value', () => {
    const { told } = resolve({
      base,
      mine: { base: 'base', option_defaults: { effort: 'secret-1', speed: 'secret-2', model: 'm' } },
      bare: { command: 'x', option_defaults: { effort: 'low' } },
    });
    expect(told).toEqual([
      'city.toml: providers.mine.option_defaults.effort: must be the value of one of the choices (accepted: low, high)',
      'city.toml: providers.mine.option_defaults.speed: is no option of this provider (accepted: model, effort)',
      'city.toml: providers.bare.option_defaults.effort: is no option of this provider',
    ]);
  });

  it('tells defaults outside the choices and keys and values that are there twice', () => {
    const { told } = resolve({ a: { command: 'x', options_schema: [option('m', ['s', 's'], { default: 'l' }), option('m', ['s'])] } });
    expect(told).toEqual([
      'city.toml: providers.a.options_schema[0].choices[1].value: is already the value of another choice',
      'city.toml: providers.a.options_schema[0].default: must be the value of one of the choices (accepted: s, s)',
      'city.toml: providers.a.options_schema[1].key: is already the key of another option of this provider',
    ]);
  });
});

describe('what could not be started', () => {
  it('tells a missing command and a missing prompt flag once, where they are missing', () => {
    const { told } = resolve({
      a: { display_name: 'A' },
      b: { base: 'a', prompt_mode: 'flag' },
      c: { base: 'b' },
      d: { base: 'builtin:pi', command: '' },
      e: { base: 'builtin:opencode', prompt_mode: 'flag' },
    });
    expect(told).toEqual([
      'city.toml: providers.a.command: is missing: a provider has a command, an acp_command, or a base with one',
      'city.toml: providers.b.prompt_flag: is missing: prompt_mode is flag',
      'city.toml: providers.d.command: is missing: a provider has a command, an acp_command, or a base with one',
    ]);
  });

  it('wants a resume command of a wrapper around what resumes by a subcommand', () => {
    const { told } = resolve({
      wrapper: { base: 'builtin:codex', command: 'run-codex' },
      deeper: { base: 'wrapper' },
      path: { base: 'builtin:codex', command: '/opt/bin/codex' },
      told: { base: 'builtin:codex', command: 'run-codex', resume_command: 'run-codex -- resume {{.SessionKey}}' },
      flag: { base: 'builtin:codex', command: 'run-codex', resume_style: 'flag', resume_flag: '--resume' },
      claude: { base: 'builtin:claude', command: 'run-claude' },
    });
    expect(told).toEqual([
      'city.toml: providers.wrapper.resume_command: is missing: the base resumes by a subcommand, and where another command takes it is not known',
    ]);
  });
});
