import { describe, expect, it } from '@jest/globals';
import type { ProviderSpec } from '../city-config.js';
import { plain, tableOf } from '../tree.js';
import { PRESETS } from './presets.js';
import { publicView } from './public-view.js';
import { resolveProviders } from './resolve.js';

describe('the public view of a provider', () => {
  it('shows what can be chosen and what is in force, of a base too', () => {
    const catalog = {
      team: { base: 'builtin:claude', display_name: 'Team', env: { TOKEN: 'secret' }, option_defaults: { permission_mode: 'plan' } },
      mine: { base: 'team', option_defaults: { model: 'opus' } },
    };
    const resolved = plain(resolveProviders(tableOf(catalog, { file: 'city.toml' }), [])) as Record<string, ProviderSpec>;
    const view = publicView('mine', resolved['mine']!);
    expect(view).toMatchObject({ name: 'mine', display_name: 'Team' });
    expect(view.effective_defaults).toEqual({ permission_mode: 'plan', effort: 'max', model: 'opus' });
    expect(view.options_schema!.map(({ key }) => key)).toEqual(['permission_mode', 'effort', 'model']);
    expect(view.options_schema![0]).toMatchObject({ label: 'Permission mode', type: 'select', default: 'unrestricted' });
    expect(view.options_schema![0]!.choices[1]).toEqual({ value: 'plan', label: 'Plan first' });
    expect(JSON.stringify(view)).not.toMatch(/--|secret|flag_args|command/);
  });

  it('names what has no name and no options', () => {
    expect(publicView('x', { command: 'x' })).toEqual({ name: 'x', display_name: 'x' });
    const bare: ProviderSpec = { options_schema: [{ key: 'constructor', type: 'select', choices: [{ value: 'a' }] }] };
    expect(publicView('x', { ...bare, option_defaults: {} })).toEqual({
      name: 'x',
      display_name: 'x',
      options_schema: [{ key: 'constructor', label: 'constructor', type: 'select', default: '', choices: [{ value: 'a', label: 'a' }] }],
      effective_defaults: {},
    });
  });

  it('leaves out what is left to the tool', () => {
    expect(publicView('gemini', PRESETS['gemini']!).effective_defaults).toEqual({ permission_mode: 'unrestricted' });
  });
});
