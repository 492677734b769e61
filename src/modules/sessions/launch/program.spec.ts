import { describe, expect, it } from '@jest/globals';
import type { CityConfig } from '../../files/composition/city-config.js';
import type { Parts } from './launch.js';
import { partsNow } from './place-fingerprint.js';
import { isForeign, lastParts, programNow, type Program } from './program.js';

const OLD = { provider: 'old', preset: null, transport: 'acp' } as const satisfies Program;
const of = (
  agent: object,
  providers: object = { old: { command: 'old', supports_acp: true }, new: { command: 'new', supports_acp: true } },
) =>
  ({
    ...{ workspace: {}, named_sessions: [], rigs: [], upstreams: {}, contents: {}, providers, resolved_providers: providers },
    agents: [{ name: 'boss', qualified_name: 'boss', dir: '', ...agent }],
  }) as unknown as CityConfig;
describe('what a session is started with', () => {
  const row = { kind: 'agent', template: 'boss', ...OLD } as const;

  it('is what the configuration says now', () => {
    expect(programNow(of({ provider: 'new' }), row)).toEqual({ provider: 'new', preset: null, transport: 'acp' });
    expect(programNow(of({ provider: 'claude', session: 'tmux' }), row)).toEqual({
      provider: 'claude',
      preset: 'claude',
      transport: 'pty',
    });
  });

  it('is what its row says where the configuration says nothing', () => {
    expect(programNow(undefined, row)).toEqual(OLD);
    expect(programNow(of({ provider: 'gone' }), row)).toEqual(OLD);
  });
});

describe('the conversation of a session', () => {
  const row = { kind: 'agent', template: 'boss', options: {} } as const;
  const parts = (config: CityConfig): Parts => partsNow(config, row)!;
  const derived = (name: string, base: string) => ({ [name]: { base: `builtin:${base}`, command: base, supports_acp: true } });
  const old = parts(of({ provider: 'old' }));

  it('goes on with the program that it had', () => {
    expect(isForeign(old, old)).toBe(false);
    expect(isForeign(old, parts(of({ provider: 'old', args: ['--more'] })))).toBe(false);
  });

  it('goes on where the program has another name', () => {
    const claude = parts(of({ provider: 'claude' }));
    expect(isForeign(claude, parts(of({ provider: 'team', args: ['--more'] }, derived('team', 'claude'))))).toBe(false);
    expect(isForeign(old, parts(of({ provider: 'mine' }, { mine: { command: 'old', supports_acp: true } })))).toBe(false);
  });

  it('is not known to another provider, over another transport, or to another preset', () => {
    expect(isForeign(old, parts(of({ provider: 'new' })))).toBe(true);
    expect(isForeign(old, parts(of({ provider: 'old', session: 'tmux' })))).toBe(true);
    expect(isForeign(old, parts(of({ provider: 'mine' }, { mine: { command: 'old', args: ['other'], supports_acp: true } })))).toBe(true);
    const mine = (base: string) => parts(of({ provider: 'mine' }, derived('mine', base)));
    expect(isForeign(mine('claude'), mine('codex'))).toBe(true);
  });

  it('is that of what has run last, whatever its row says', () => {
    const claude = { provider: 'claude', preset: 'claude', transport: 'acp' } as const;
    const { preset: _, ...noted } = parts(of({ provider: 'codex' }));
    expect(isForeign(lastParts(claude, noted), parts(of({ provider: 'codex', args: ['--more'] })))).toBe(false);
    expect(isForeign(lastParts(claude, noted), parts(of({ provider: 'claude' })))).toBe(true);
  });

  it('is that of its row where nothing was noted', () => {
    const claude = { provider: 'claude', preset: 'claude', transport: 'acp' } as const;
    const { preset: _, ...noted } = parts(of({ provider: 'claude' }));
    const team = parts(of({ provider: 'team' }, derived('team', 'claude')));
    for (const known of [null, noted]) {
      expect(isForeign(lastParts(claude, known), team)).toBe(false);
      expect(isForeign(lastParts(claude, known), parts(of({ provider: 'codex' })))).toBe(true);
    }
  });
});
