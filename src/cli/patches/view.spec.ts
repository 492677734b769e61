import { describe, expect, it } from '@jest/globals';
import { fileKey, patchDetails, settingsOf, targetOf, type Patch } from './view.js';

describe('fileKey', () => {
  it.each([
    ['WorkDir', 'work_dir'],
    ['MCP', 'mcp'],
    ['MCPAppend', 'mcp_append'],
    ['ACPArgs', 'acp_args'],
    ['ReadyDelayMs', 'ready_delay_ms'],
    ['MaxSessionAgeJitter', 'max_session_age_jitter'],
  ])('of %s is %s', (member, key) => expect(fileKey(member)).toBe(key));
});

describe('a patch', () => {
  const pool = { Min: null, Max: null, Check: null, DrainTimeout: null, OnDeath: null, OnBoot: null };
  const agent = { Dir: 'web', Name: 'polecat', Pool: pool, Suspended: false, Env: {}, Args: [], Provider: null, Other: { skip: 1 } };

  it('sets what is neither null nor empty, false and empty lists included', () => {
    expect(settingsOf(agent as unknown as Patch)).toEqual([
      ['suspended', false],
      ['args', []],
      ['skip', 1],
    ]);
    expect(targetOf(agent as unknown as Patch)).toBe('web/polecat');
  });

  it('of a rig tells its flag once, that of a provider tells replacement only when it replaces', () => {
    const rig = { Name: 'web', Suspended: true, SuspendedOnStart: true, FormulaVars: { a: 'b' }, Other: {} };
    expect(settingsOf(rig as unknown as Patch)).toEqual([
      ['suspended_on_start', true],
      ['formula_vars', { a: 'b' }],
    ]);
    const provider = (Replace: boolean): Patch => ({ Name: 'codex', Replace, Other: {} }) as unknown as Patch;
    expect([settingsOf(provider(false)), settingsOf(provider(true))]).toEqual([[], [['replace', true]]]);
  });

  it('is shown key by key, without control characters', () => {
    const patch = { Dir: '', Name: 'mayor', Nudge: 'a\u009bb', Other: {} } as unknown as Patch;
    expect(patchDetails('agent', patch)).toBe('agent mayor\n  nudge = "a b"\n');
  });
});
