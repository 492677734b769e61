import { describe, expect, it } from '@jest/globals';
import { stringify } from 'smol-toml';
import { CITY_FORMAT } from '../formats/city.format.js';
import { checkDocument } from '../formats/read.js';
import type { Issue } from '../issue.js';
import { plain, tableOf } from '../tree.js';
import { PRESET_NAMES, PRESETS, presetOf } from './presets.js';
import { resolveProviders } from './resolve.js';

describe('presets', () => {
  it('come in the order of the lists, the one without an account last', () => {
    expect(PRESET_NAMES.join(' ')).toBe(
      'claude codex gemini grok kimi kiro cursor copilot amp opencode mimocode groq cerebras auggie pi omp antigravity loopback',
    );
  });

  it('are found by their own names only', () => {
    expect(presetOf('claude')).toBe(PRESETS['claude']);
    expect(['__proto__', 'constructor', 'toString', '', 'Claude'].map(presetOf)).toEqual([
      undefined,
      undefined,
      undefined,
      undefined,
      undefined,
    ]);
  });

  it.each(PRESET_NAMES)('%s passes the checks for providers that are written in files', (name) => {
    const issues: Issue[] = [];
    const written = resolveProviders(tableOf({ own: { base: '', ...PRESETS[name] } }, { file: 'x' }), issues);
    expect(issues).toEqual([]);
    expect((plain(written) as Record<string, unknown>)['own']).toEqual({ base: '', ...PRESETS[name] });
  });

  it.each(PRESET_NAMES)('%s has only keys and types that a file may have', (name) => {
    const issues: Issue[] = [];
    const table = checkDocument(stringify({ providers: { own: PRESETS[name] } }), 'city.toml', CITY_FORMAT, issues);
    expect(issues).toEqual([]);
    expect(plain(table!)).toEqual({ providers: { own: PRESETS[name] } });
  });

  it('say their permission modes twice, the same', () => {
    expect(PRESETS['claude']!['permission_modes']).toEqual({
      unrestricted: '--dangerously-skip-permissions',
      plan: '--permission-mode plan',
      'auto-edit': '--permission-mode acceptEdits',
      'full-auto': '--permission-mode dontAsk',
    });
    expect(PRESETS['loopback']!['permission_modes']).toEqual({
      ask: '--permission-mode ask',
      allow: '--permission-mode allow',
      deny: '--permission-mode deny',
    });
  });
});
