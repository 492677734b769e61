import { describe, expect, it } from '@jest/globals';
import { fakeIo } from '../testing/io.js';
import { composedView, configView, diffView, explainView, revisionTable } from './view.js';

const io = fakeIo();

describe('configView', () => {
  const config = {
    workspace: { name: 'alpha', declared_name: 'north', prefix: 'al', suspended: true, max_active_sessions: -1 },
    agents: [
      { name: 'mayor', suspended: false, provider: 'loopback' },
      { name: 'core.worker', dir: 'web', suspended: true, is_pool: true, scope: 'rig' },
    ],
    rigs: [{ name: 'web', path: 'rigs/web', suspended: false, prefix: 'we' }],
    providers: { team: { base: 'builtin:claude' } },
    patches: { agent_count: 2, rig_count: 0, provider_count: 1 },
    revision: 7,
    rejected: { errors: ['city.toml:3: agent[0].scope: must be one of'], errors_total: 4, since: '2026-01-02T03:04:05.000Z' },
  };

  it('shows everything that there is, in parts', () => {
    const shown = configView(config, io);
    expect(shown).toContain('declared as:  north\n');
    expect(shown).toContain('suspended:    yes\n');
    expect(shown).toContain('sessions:     no limit\n');
    expect(shown).toContain('patches:      2 of agents, 1 of providers\n');
    expect(shown).toContain(
      'AGENT            PROVIDER  SCOPE  POOL  SUSPENDED\nmayor            loopback\nweb/core.worker            rig    yes   yes\n',
    );
    expect(shown).toContain('RIG  PREFIX  PATH\nweb  we      rigs/web\n');
    expect(shown).toContain('PROVIDER  BASE\nteam      builtin:claude\n');
    expect(shown).toMatch(/the files as they are since 2026-01-02T03:04:05Z .*cannot be used:\n {2}city\.toml:3: .*\n {2}and 3 more\n$/);
  });

  it('leaves out what there is not', () => {
    expect(configView({ workspace: { name: 'alpha', declared_name: 'alpha', suspended: false }, agents: null, rigs: [] }, io)).toBe(
      'name:  alpha\n',
    );
  });
});

describe('explainView', () => {
  const values = [
    { path: 'workspace.provider', value: 'loopback', file: 'city.toml', key: 'workspace.provider' },
    { path: 'agents.mayor.nudge', value: 'x'.repeat(80), file: 'packs/desk:pack.toml', key: 'patches.agent[0].nudge' },
    { path: 'workspace.prefix', value: 'al', file: 'derived', key: '' },
  ];

  it('names the place, and the key there when it is another one', () => {
    const lines = explainView(values, io).split('\n');
    expect(lines[1]).toMatch(/^workspace\.provider +"loopback" +city\.toml$/);
    expect(lines[2]).toMatch(/^agents\.mayor\.nudge +"x{80}" +packs\/desk:pack\.toml: patches\.agent\[0\]\.nudge$/);
    expect(lines[3]).toMatch(/^workspace\.prefix +"al" +derived$/);
  });

  it('cuts long values on a terminal, so that the place is still seen', () => {
    const line = explainView(values, fakeIo({ width: 120 })).split('\n')[2]!;
    expect(line).toMatch(/"x{46}… +packs\/desk:pack\.toml/);
  });
});

describe('diffView', () => {
  const diff = {
    from: 3,
    to: 'files',
    differences: [
      { path: 'workspace.provider', before: 'claude', after: 'codex' },
      { path: 'rigs.web', after: { name: 'web' } },
      { path: 'agents."a\u001b[31mb"', before: null },
    ],
    total: 3,
  };

  it('tells what was and what is, without control characters of others', () => {
    expect(diffView(diff, io)).toBe(
      [
        '--- revision 3',
        '+++ the files as they are now',
        '- workspace.provider = "claude"',
        '+ workspace.provider = "codex"',
        '+ rigs.web = {"name":"web"}',
        '- agents."ab" = null',
        '',
      ].join('\n'),
    );
    expect(diffView({ ...diff, to: '4' }, io)).toContain('\n+++ revision 4\n');
  });

  it('is coloured where that is wanted', () => {
    const shown = diffView(diff, { ...io, colour: true });
    expect(shown).toContain('\u001b[31m- workspace.provider = "claude"\u001b[39m\n\u001b[32m+ workspace.provider = "codex"\u001b[39m\n');
  });
});

describe('composedView', () => {
  it('is written like the files, each value in its line', () => {
    const config = { workspace: { name: 'al\u009bpha' }, agents: [{ name: 'mayor', args: ['a\nb'] }] };
    expect(composedView(config)).toBe('[workspace]\nname = "al pha"\n\n[[agents]]\nname = "mayor"\nargs = [ "a\\nb" ]\n');
  });
});

describe('revisionTable', () => {
  it('names the first keys and counts the others', () => {
    const revision = {
      revision: 5,
      hash: 'h',
      cause: 'api' as const,
      actor: 'ann',
      changed: ['a', 'b', 'c', 'd'],
      changed_total: 40,
      warnings: ['one'],
      created_at: new Date().toISOString(),
    };
    expect(revisionTable([revision], io)).toMatch(/^REVISION {2}CAUSE .*\n5 +api +ann +\ds +1 +a, b, c and 37 more\n$/);
  });
});
