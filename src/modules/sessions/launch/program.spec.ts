import { describe, expect, it } from '@jest/globals';
import type { CityConfig } from '../../files/composition/city-config.js';
import { fingerprintNow } from './place-fingerprint.js';
import { hasForeignConversation, programNow, type Program } from './program.js';

const OLD = { provider: 'old', preset: null, transport: 'acp' } as const satisfies Program;
const of = (
  agent: object,
  providers: object = { old: { command: 'old', supports_acp: true }, new: { command: 'new', supports_acp: true } },
) =>
  ({
    ...{ workspace: {}, named_sessions: [], rigs: [], upstreams: {}, contents: {}, providers, resolved_providers: providers },
    agents: [{ name: 'boss', qualified_name: 'boss', dir: '', ...agent }],
  }) as unknown as CityConfig;
const rowOf = (program: Program, config: CityConfig) => {
  const row = { kind: 'agent', template: 'boss', options: {}, launch_options: null, session_key: 'k', ...program } as const;
  return { ...row, launch_hash: fingerprintNow(config, row) ?? null };
};

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
  const before = of({ provider: 'old' });
  const row = rowOf(OLD, before);
  const isForeign = (config: CityConfig, more: Partial<typeof row> = {}): boolean =>
    hasForeignConversation(config, { ...row, ...more } as typeof row, programNow(config, row));

  it('goes on with the program that it had', () => {
    expect(isForeign(before)).toBe(false);
    expect(isForeign(of({ provider: 'old', args: ['--more'] }))).toBe(false);
  });

  it('is not known to another provider, over another transport, or to another preset', () => {
    expect(isForeign(of({ provider: 'new' }))).toBe(true);
    expect(isForeign(of({ provider: 'old', session: 'tmux' }))).toBe(true);
    const mine = (base: string) => of({ provider: 'mine' }, { mine: { base: `builtin:${base}`, command: base, supports_acp: true } });
    const was = rowOf({ provider: 'mine', preset: 'claude', transport: 'acp' }, mine('claude'));
    const now = programNow(mine('codex'), was);
    expect(now.preset).toBe('codex');
    expect(hasForeignConversation(mine('codex'), was, now)).toBe(true);
  });

  it('is none before the first', () => {
    expect(isForeign(of({ provider: 'new' }), { session_key: null as never })).toBe(false);
  });

  it('goes on where only its row is behind', () => {
    const after = of({ provider: 'new' });
    expect(isForeign(after, { launch_hash: fingerprintNow(after, row)! })).toBe(false);
  });
});
