import { describe, expect, it } from '@jest/globals';
import type { CityConfig, ProviderSpec } from '../../files/composition/city-config.js';
import { PRESET_NAMES } from '../../files/composition/presets/presets.js';
import { resolveProviders } from '../../files/composition/presets/resolve.js';
import { plain, tableOf } from '../../files/composition/tree.js';
import { namesOf, toProvider, toPublicProvider } from './city-providers.mapper.js';
import { ProviderPublicResponse, ProviderResponse } from './city-providers.schemas.js';
import { usersOf } from './provider-users.js';

function configOf(providers: Record<string, ProviderSpec>, more: Partial<Record<keyof CityConfig, unknown>> = {}): CityConfig {
  const resolved = plain(resolveProviders(tableOf(providers, { file: 'city.toml' }), []));
  const nothing = { workspace: {}, agents: [], patches: { agent: [], providers: [] } };
  return { ...nothing, providers, resolved_providers: resolved, ...more } as unknown as CityConfig;
}

const config = configOf({
  zebra: { base: 'codex', env: { TOKEN: 'secret' }, acp_args: [], option_defaults: { effort: 'low' } },
  codex: { ready_delay_ms: 1, display_name: 'Ours' },
  constructor: { base: '', command: 'c' },
});

describe('the providers of a city', () => {
  it('are listed by name, then the builtin ones that it does not define', () => {
    expect(namesOf(config)).toEqual(['codex', 'constructor', 'zebra', ...PRESET_NAMES.filter((name) => name !== 'codex')]);
    expect(namesOf(config).map((name) => ProviderResponse.parse(toProvider(config, name)).name)).toEqual(namesOf(config));
  });

  it('are shown as they are written, with masked environments', () => {
    expect(toProvider(config, 'zebra')).toEqual({
      name: 'zebra',
      builtin: false,
      city_level: true,
      base: 'codex',
      acp_args: [],
      env: { TOKEN: '********' },
      option_defaults: { effort: 'low' },
    });
    expect(toProvider(config, 'codex')).toEqual({
      name: 'codex',
      builtin: true,
      city_level: true,
      ready_delay_ms: 1,
      display_name: 'Ours',
    });
    expect(toProvider(config, 'copilot')).toMatchObject({ builtin: true, city_level: false, args: ['--yolo'] });
    expect(toProvider(config, 'opencode')!.env).toEqual({ OPENCODE_PERMISSION: '********' });
    expect(['nobody', '__proto__', 'toString'].map((name) => toProvider(config, name))).toEqual([undefined, undefined, undefined]);
  });

  it('have a public view that follows bases', () => {
    const view = ProviderPublicResponse.parse(toPublicProvider(config, 'zebra'));
    expect(view).toMatchObject({ name: 'zebra', builtin: false, city_level: true, display_name: 'Ours' });
    expect(view.effective_defaults).toEqual({ permission_mode: 'unrestricted', model: 'gpt-5.5', effort: 'low' });
    expect(JSON.stringify(namesOf(config).map((name) => toPublicProvider(config, name)))).not.toMatch(/secret|flag_args|"command"/);
  });
});

describe('who uses a provider', () => {
  const used = configOf(
    {
      team: { base: 'builtin:claude' },
      a: { base: 'team' },
      b: { base: 'provider:team' },
      c: { base: 'builtin:codex' },
      codex: {},
      d: { base: 'codex' },
    },
    {
      workspace: { provider: 'team' },
      agent_defaults: { provider: 'team' },
      agents: [
        { qualified_name: 'sf/desk.one', provider: 'team', origin: 'pack' },
        { qualified_name: 'team', provider: 'team', origin: 'implicit' },
        { qualified_name: 'two', provider: 'codex', origin: 'inline' },
      ],
      patches: { agent: [{ dir: 'sf', name: 'x', provider: 'team' }, { name: 'y' }], providers: [{ name: 'team' }] },
    },
  );

  it('is everything that would lack it', () => {
    expect(usersOf(used, 'team')).toEqual([
      'workspace.provider',
      'agent_defaults.provider',
      'agent sf/desk.one',
      'provider a',
      'provider b',
      'the patch of agent sf/x',
      'a patch of it',
    ]);
  });

  it('is not who falls back to the builtin of that name', () => {
    expect(usersOf(used, 'codex')).toEqual(['agent two']);
    expect(usersOf(used, 'a')).toEqual([]);
  });
});
