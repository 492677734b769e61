import { describe, expect, it } from '@jest/globals';
import { ProblemError } from '../../../contract/problems.js';
import { configOf, type Files } from '../../files/composition/compose/testing/city.js';
import type { CityConfig } from '../../files/composition/city-config.js';
import { chosenOptions, flagArguments } from './chosen-options.js';
import { commandLine, commandOf } from './command.js';
import { fingerprintOf } from './fingerprint.js';
import { checkOptions, templateOf, templateOfNamed } from './template.js';

const PROMPT = { 'agents/mayor/prompt.md': 'Lead.', 'agents/mayor/agent.toml': 'provider = "loopback"\n' };

function city(text: string, more: Files = {}): Promise<CityConfig> {
  return configOf({
    'city.toml': `[workspace]\nprovider = "loopback"\n[providers.loopback]\nbase = "builtin:loopback"\n${text}`,
    ...PROMPT,
    ...more,
  });
}

function agents(name: string, text: string): Files {
  return { [`agents/${name}/agent.toml`]: text, [`agents/${name}/prompt.md`]: 'Do it.' };
}

function refusal(work: () => unknown): { problem: string; detail: string } {
  try {
    work();
  } catch (error) {
    if (error instanceof ProblemError) return { problem: error.problem, detail: error.detail };
    throw error;
  }
  throw new Error('nothing was refused');
}

describe('a template', () => {
  it('is an agent by its qualified name or by a bare one that is unique', async () => {
    const config = await city('');
    expect(templateOf(config, 'agent', 'mayor')).toMatchObject({
      kind: 'agent',
      name: 'mayor',
      rig: '',
      provider: 'loopback',
      preset: 'loopback',
      transport: 'acp',
      title: 'mayor',
      isPool: true,
    });
    const rigged = {
      ...config,
      agents: [{ ...config.agents[0]!, name: 'builder', qualified_name: 'web/desk.builder', dir: 'web' }],
    } as CityConfig;
    expect(templateOf(rigged, 'agent', 'builder')).toMatchObject({ name: 'web/desk.builder', rig: 'web' });
    expect(templateOf(rigged, 'agent', 'web/builder')).toMatchObject({ name: 'web/desk.builder' });
    const twice = { ...rigged, agents: [rigged.agents[0]!, { ...rigged.agents[0]!, dir: 'api', qualified_name: 'api/desk.builder' }] };
    expect(refusal(() => templateOf(twice, 'agent', 'builder'))).toMatchObject({ problem: 'agent_not_found' });
  });

  it('is a provider of the city, or a preset', async () => {
    const config = await city('[providers.own]\ncommand = "bin/agent"\ndisplay_name = "Own"\n');
    expect(templateOf(config, 'provider', 'own')).toMatchObject({
      kind: 'provider',
      rig: '',
      title: 'Own',
      transport: 'pty',
      preset: undefined,
    });
    expect(templateOf(config, 'provider', 'claude')).toMatchObject({ preset: 'claude', transport: 'acp', title: 'Claude Code' });
    for (const name of ['nothing', '__proto__', 'constructor'])
      expect(refusal(() => templateOf(config, 'provider', name))).toEqual({
        problem: 'provider_not_found',
        detail: `not_found: provider ${name} not found`,
      });
  });

  it('counts as a pool unless it has room for one session only', async () => {
    const bounds = { one: 1, none: 0, two: 2, any: -1 };
    const files = Object.entries(bounds).map(([name, most]) => agents(name, `max_active_sessions = ${most}\n`));
    const config = await city('', Object.assign({}, ...files) as Files);
    const pools = Object.keys(bounds).map((name) => [name, templateOf(config, 'agent', name).isPool]);
    expect(Object.fromEntries(pools)).toEqual({ one: false, none: false, two: true, any: true });
  });

  it.each<[string, string, string]>([
    ['what the preset supports', '', 'acp'],
    ['what the agent asks for', 'session = "tmux"\n', 'pty'],
    ['what the agent asks for, over the provider', 'session = "acp"\n', 'acp'],
    ['a terminal for a command', 'start_command = "bin/agent"\n', 'pty'],
    ['a command that speaks ACP', 'start_command = "bin/agent"\nsession = "acp"\n', 'acp'],
    ['a terminal for a provider without ACP', 'provider = "codex"\n', 'pty'],
    ['a script', 'provider = "box"\n', 'exec'],
  ])('goes by %s', async (_, text, transport) => {
    const config = await city('[providers.codex]\n[providers.box]\ncommand = "exec:scripts/box"\n', agents('one', text));
    expect(templateOf(config, 'agent', 'one').transport).toBe(transport);
  });

  it('goes by what the city asks for', async () => {
    const transport = async (provider: string): Promise<string> =>
      templateOf(await city(`[session]\nprovider = "${provider}"\n`), 'agent', 'mayor').transport;
    expect([await transport('exec:run'), await transport('tmux'), await transport('acp'), await transport('subprocess')]).toEqual([
      'exec',
      'pty',
      'acp',
      'acp',
    ]);
  });

  it('is refused where its transport, its provider or its agent is not there', async () => {
    const config = await city('[providers.codex]\n', agents('one', 'provider = "codex"\nsession = "acp"\n'));
    expect(refusal(() => templateOf(config, 'agent', 'one'))).toMatchObject({ problem: 'provider_not_ready' });
    expect(refusal(() => templateOf(config, 'agent', 'two'))).toEqual({
      problem: 'agent_not_found',
      detail: 'not_found: agent two not found',
    });
    const gone = { ...config, agents: [{ ...config.agents[0]!, provider: 'gone' }] } as CityConfig;
    expect(refusal(() => templateOf(gone, 'agent', config.agents[0]!.name))).toMatchObject({ problem: 'provider_not_found' });
  });

  it('of a named session is the agent of its rig before one of the city', async () => {
    const config = await city('');
    const base = config.agents.find(({ name }) => name === 'mayor')!;
    const both = { ...config, agents: [base, { ...base, dir: 'web', qualified_name: 'web/mayor' }] } as CityConfig;
    const named = { qualified_name: 'web/boss', name: 'boss', template: 'mayor', dir: 'web', mode: 'always' } as const;
    expect(templateOfNamed(both, named)).toMatchObject({ name: 'web/mayor', title: 'web/boss', named });
    expect(templateOfNamed(config, named)).toMatchObject({ name: 'mayor' });
    expect(refusal(() => templateOfNamed(config, { ...named, template: 'gone' }))).toMatchObject({ problem: 'agent_not_found' });
  });
});

describe('options', () => {
  it('default by schema, then provider, then agent, and only to what can be chosen', async () => {
    const text = '[providers.p]\nbase = "builtin:claude"\n[providers.p.option_defaults]\npermission_mode = "plan"\n';
    const config = await city(
      text,
      agents('one', 'provider = "p"\n[option_defaults]\nmodel = "opus"\neffort = "endless"\nunknown = "x"\n'),
    );
    expect(templateOf(config, 'agent', 'one').optionDefaults).toEqual({ permission_mode: 'plan', effort: 'max', model: 'opus' });
  });

  it('are refused by name', async () => {
    const template = templateOf(await city(''), 'agent', 'mayor');
    checkOptions(template, { permission_mode: 'deny' });
    expect(refusal(() => checkOptions(template, { model: 'x' }))).toEqual({
      problem: 'invalid_request',
      detail: 'invalid: unknown option: model (accepted: permission_mode)',
    });
    expect(refusal(() => checkOptions(template, { permission_mode: 'no' })).detail).toBe(
      'invalid: invalid value for permission_mode: no (accepted: ask, allow, deny)',
    );
    for (const key of ['__proto__', 'constructor'])
      expect(refusal(() => checkOptions(template, JSON.parse(`{"${key}":"x"}`) as Record<string, string>)).detail).toContain(
        'unknown option',
      );
  });

  it('choose arguments; what is not offered any more has no effect', async () => {
    const template = templateOf(await city(''), 'agent', 'mayor');
    const options = chosenOptions(template, { permission_mode: 'allow', model: 'gone' });
    expect(options).toEqual({ permission_mode: 'allow' });
    expect(flagArguments(template, options)).toEqual(['--permission-mode', 'allow']);
    expect(chosenOptions(template, { permission_mode: 'gone' })).toEqual({ permission_mode: 'ask' });
  });
});

describe('a command', () => {
  it.each<[string, string, string | null, { command: string; args: string[] }]>([
    [
      'its arguments and those of its options',
      '[providers.p]\nbase = "builtin:codex"\nargs = ["-v"]\n',
      null,
      {
        command: 'codex',
        args: ['-v', '--dangerously-bypass-approvals-and-sandbox', '--model', 'gpt-5.5', '-c', 'model_reasoning_effort=xhigh'],
      },
    ],
    [
      'a conversation by subcommand',
      '[providers.p]\ncommand = "x"\nresume_flag = "threads continue"\nresume_style = "subcommand"\n',
      'k1',
      { command: 'x', args: ['threads', 'continue', 'k1'] },
    ],
    [
      'a conversation by flag',
      '[providers.p]\ncommand = "x"\nresume_flag = "--resume"\n',
      'k1',
      { command: 'x', args: ['--resume', 'k1'] },
    ],
    ['no conversation', '[providers.p]\ncommand = "x"\nresume_flag = "--resume"\n', null, { command: 'x', args: [] }],
    [
      'ACP arguments instead of its own',
      '[providers.p]\nbase = "builtin:kimi"\n',
      'k1',
      { command: 'kimi', args: ['--yolo', '--no-thinking', 'acp'] },
    ],
    [
      'an ACP command with its own arguments',
      '[providers.p]\ncommand = "x"\nargs = ["-v"]\nsupports_acp = true\nacp_command = "y"\n',
      null,
      { command: 'y', args: ['-v'] },
    ],
    [
      'a line for a shell',
      '[providers.p]\ncommand = "npx agent"\nargs = ["a b"]\n',
      null,
      { command: '/bin/sh', args: ['-c', 'npx agent "$@"', 'sh', 'a b'] },
    ],
  ])('has %s', async (_, text, key, expected) => {
    const template = templateOf(await city(text), 'provider', 'p');
    expect(commandOf(template, chosenOptions(template, {}), key)).toEqual(expected);
  });

  it("is the agent's own line, without options of a provider", async () => {
    const template = templateOf(await city('', agents('one', 'start_command = "run $HOME"\n')), 'agent', 'one');
    expect(commandOf(template, {})).toEqual({ command: '/bin/sh', args: ['-c', 'run $HOME', 'sh'] });
    expect(template).toMatchObject({ optionSchema: [], provider: '', preset: undefined });
  });

  it('can be written as a line that a shell reads back', () => {
    expect(commandLine({ command: 'a', args: ['b c', "it's", '--x=1'] })).toBe(`a 'b c' 'it'\\''s' --x=1`);
    expect(commandLine({ command: '', args: [] })).toBe('');
  });
});

describe('a fingerprint', () => {
  const row = { kind: 'agent', template: 'one', options: {} } as const;
  const of = async (text: string, files: Files = agents('one', '')): Promise<string | undefined> =>
    fingerprintOf(await city(text, files), row);

  it('is equal for equal processes, whatever else of the city changes', async () => {
    const one = await of('');
    expect(one).toMatch(/^[0-9a-f]{64}$/);
    expect(await of('', { ...agents('one', 'description = "x"\n'), ...agents('two', '') })).toBe(one);
    expect(await of('', { ...agents('one', ''), 'agents/one/prompt.md': 'Other.' })).toBe(one);
  });

  it.each<[string, string, Files]>([
    ['arguments', '', agents('one', 'args = ["-x"]\n')],
    ['variables', '', agents('one', '[env]\nA = "1"\n')],
    ['variables of the city', '[workspace.env]\nA = "1"\n', agents('one', '')],
    ['the directory', '', agents('one', 'work_dir = "x"\n')],
    ['the provider', '[providers.claude]\n', agents('one', 'provider = "claude"\n')],
    ['options', '', agents('one', '[option_defaults]\npermission_mode = "deny"\n')],
    ['the transport', '[session]\nprovider = "exec:x"\n', agents('one', '')],
  ])('is another one for other %s', async (what, text, files) => {
    // A city has one table of its workspace: the variables go into it.
    const before = await of('');
    const after =
      what === 'variables of the city'
        ? fingerprintOf(
            await configOf({
              'city.toml': `[workspace]\nprovider = "loopback"\nenv = { A = "1" }\n[providers.loopback]\nbase = "builtin:loopback"\n`,
              ...PROMPT,
              ...files,
            }),
            row,
          )
        : await of(text, files);
    expect(after).toMatch(/^[0-9a-f]{64}$/);
    expect(after).not.toBe(before);
  });

  it('does not know credentials', async () => {
    const [one, other] = await Promise.all(['1', '2'].map((key) => of('', agents('one', `[env]\nOPENAI_API_KEY = "${key}"\n`))));
    expect(one).toBe(other);
  });

  it('is of the chosen options, and none when the template is gone', async () => {
    const config = await city('', agents('one', ''));
    expect(fingerprintOf(config, { ...row, options: { permission_mode: 'deny' } })).not.toBe(fingerprintOf(config, row));
    expect(fingerprintOf(config, { ...row, template: 'gone' })).toBeUndefined();
  });
});
