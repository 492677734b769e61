import { execFileSync } from 'node:child_process';
import promises, { chmod, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { syncBuiltinESMExports } from 'node:module';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { hasBubblewrap } from '../../../../../test/support/bubblewrap.js';
import { USER_NUMBERS, USERS_OF_HOST } from '../../../../../test/support/user-numbers.js';
import type { Isolation } from '../../../../platform/isolation/isolation.js';
import { isolationOf } from '../../../../platform/isolation/testing/isolation.js';
import { HostBusy, StartError } from '../../../../platform/runtime/port.js';
import { listProcesses } from '../../../../platform/runtime/process-table.js';
import { PRESET_NAMES } from '../../../files/composition/presets/presets.js';
import { probeAll } from '../provider-prober.js';
import { remedyOf } from '../provider-remedies.js';
import { READINESS_ITEMS, READINESS_STATUSES } from '../providers.catalogue.js';
import { ProbeHost } from './host.js';
import { PROBES } from './probes.js';

let home: string;
let host: ProbeHost;

async function put(file: string, content: string): Promise<void> {
  await mkdir(path.dirname(path.join(home, file)), { recursive: true });
  await writeFile(path.join(home, file), content);
}
async function program(name: string, script = 'exit 0'): Promise<void> {
  await put(`.local/bin/${name}`, `#!/bin/sh\n${script}\n`);
  await chmod(path.join(home, '.local/bin', name), 0o755);
}
const status = async (item: string): Promise<string> => (await probeAll(host)).get(item)!.status;

beforeEach(async () => {
  home = await mkdtemp(path.join(tmpdir(), 'svc-probe-'));
  host = new ProbeHost(home, ['/usr/bin', '/bin']);
});
afterEach(() => rm(home, { recursive: true, force: true }));

describe('probes', () => {
  it('exist for every preset and every item', () => {
    expect(Object.keys(PROBES)).toEqual(expect.arrayContaining([...PRESET_NAMES]));
    expect(Object.keys(PROBES).sort()).toEqual(READINESS_ITEMS.map((item) => item.name).sort());
  });

  it('find nothing installed on an empty host, except what ships with the product', async () => {
    host = new ProbeHost(home, []);
    for (const [item, { status: found }] of await probeAll(host))
      expect([item, found]).toEqual([item, item === 'loopback' ? 'configured' : 'not_installed']);
  });

  it.each([
    ['{"loggedIn":true,"authMethod":"claude.ai","apiProvider":"firstParty"}', 'configured'],
    ['{"loggedIn":true,"authMethod":"oauth_token","apiProvider":"firstParty"}', 'configured'],
    ['{"loggedIn":false}', 'needs_auth'],
    ['{"loggedIn":true,"authMethod":"api_key","apiProvider":"firstParty"}', 'invalid_configuration'],
    ['nonsense', 'probe_error'],
  ])('claude answering %s is %s', async (answer, expected) => {
    await program('claude', `[ "$*" = "auth status --json" ] && echo '${answer}'`);
    expect(await status('claude')).toBe(expected);
  });

  it.each([
    [undefined, 'needs_auth'],
    ['{"auth_mode":"chatgpt","tokens":{"id_token":"x"}}', 'configured'],
    ['{"auth_mode":"chatgpt","tokens":{}}', 'needs_auth'],
    ['{"auth_mode":"none"}', 'needs_auth'],
    ['{"auth_mode":"apikey"}', 'invalid_configuration'],
    ['{', 'probe_error'],
  ])('codex with %s is %s', async (file, expected) => {
    await program('codex');
    if (file !== undefined) await put('.codex/auth.json', file);
    expect(await status('codex')).toBe(expected);
  });

  it('say of a file what can be stored, and not all of it', async () => {
    await program('codex');
    await put('.codex/auth.json', JSON.stringify({ auth_mode: `\0${'x'.repeat(1_000)}` }));
    const { detail } = (await probeAll(host)).get('codex')!;
    expect(detail).toBe(`auth mode \ufffd${'x'.repeat(189)}`);
  });

  it.each([
    [undefined, undefined, 'needs_auth'],
    ['{}', undefined, 'needs_auth'],
    ['{"security":{"auth":{"selectedType":"oauth-personal"}}}', undefined, 'needs_auth'],
    ['{"security":{"auth":{"selectedType":"oauth-personal"}}}', '{"refresh_token":"x"}', 'configured'],
    ['{"security":{"auth":{"selectedType":"vertex-ai"}}}', undefined, 'invalid_configuration'],
    ['[', undefined, 'probe_error'],
  ])('gemini with %s and %s is %s', async (settings, credentials, expected) => {
    await program('gemini');
    if (settings !== undefined) await put('.gemini/settings.json', settings);
    if (credentials !== undefined) await put('.gemini/oauth_creds.json', credentials);
    expect(await status('gemini')).toBe(expected);
  });

  it.each([
    ['exit 0', undefined, 'configured'],
    ['echo not logged in >&2; exit 1', undefined, 'needs_auth'],
    ['exit 1', undefined, 'probe_error'],
    ['exit 1', 'github.com:\n    oauth_token: abc\n', 'configured'],
  ])('gh that does %s with hosts %s is %s', async (script, hosts, expected) => {
    await program('gh', script);
    if (hosts !== undefined) await put('.config/gh/hosts.yml', hosts);
    expect(await status('github_cli')).toBe(expected);
  });

  it.each([
    ['kiro', 'kiro-cli', 'echo me@example.com', 'configured'],
    ['kiro', 'kiro-cli', 'echo "Not logged in" >&2; exit 1', 'needs_auth'],
    ['kiro', 'kiro-cli', 'exit 1', 'probe_error'],
    ['cursor', 'cursor-agent', 'echo "Logged in as me@example.com"', 'configured'],
    ['cursor', 'cursor-agent', 'echo "Not logged in"', 'needs_auth'],
  ])('%s whose %s does %s is %s', async (item, name, script, expected) => {
    await program(name, script);
    expect(await status(item)).toBe(expected);
  });

  it.each([
    ['amp', '.local/share/amp/secrets.json', undefined, 'needs_auth'],
    ['amp', '.local/share/amp/secrets.json', '{"apiKey@https://ampcode.com/":""}', 'needs_auth'],
    ['amp', '.local/share/amp/secrets.json', '{"apiKey@https://ampcode.com/":"k"}', 'configured'],
    ['amp', '.local/share/amp/secrets.json', '[', 'probe_error'],
    ['auggie', '.augment/session.json', undefined, 'needs_auth'],
    ['auggie', '.augment/session.json', '{"accessToken":"t"}', 'configured'],
  ])('%s with %s holding %s is %s', async (item, file, content, expected) => {
    await program(item);
    if (content !== undefined) await put(file, content);
    expect(await status(item)).toBe(expected);
  });

  it.each([
    ['grok', 'grok'],
    ['kimi', 'kimi'],
    ['copilot', 'copilot'],
    ['opencode', 'opencode'],
    ['groq', 'opencode'],
    ['cerebras', 'opencode'],
    ['omp', 'omp'],
  ])('%s is configured where %s is installed', async (item, name) => {
    await program(name);
    expect(await status(item)).toBe('configured');
  });

  it.each(['.opencode/bin', '.bun/bin', '.cargo/bin'])('find programs in %s too', async (dir) => {
    await put(`${dir}/opencode`, '#!/bin/sh\n');
    await chmod(path.join(home, dir, 'opencode'), 0o755);
    expect(await status('opencode')).toBe('configured');
  });

  it('take a folder or a file without the right to run for no program', async () => {
    await mkdir(path.join(home, '.local/bin/grok'), { recursive: true });
    await put('.local/bin/kimi', '');
    expect(await status('grok')).toBe('not_installed');
    expect(await status('kimi')).toBe('not_installed');
  });

  it('give commands no more than a small environment', async () => {
    await program('gh', 'env > "$HOME/seen"; exit 0');
    process.env.SVC_PROBE_SECRET = 'x';
    try {
      await probeAll(host);
    } finally {
      delete process.env.SVC_PROBE_SECRET;
    }
    expect(await host.read('seen')).not.toContain('SVC_PROBE_SECRET');
  });

  it('tell the version of a program, which is asked once as long as its file stays', async () => {
    await program('grok', 'echo asked >>"$HOME/.local/bin/asked"; echo "grok v1.20.3-beta (linux)"');
    const asked = async (): Promise<number> => ((await host.read('.local/bin/asked')) ?? '').split('\n').length - 1;
    const version = async (): Promise<unknown> => (await probeAll(host)).get('grok');
    expect([await version(), await version()]).toEqual(Array(2).fill({ status: 'configured', version: '1.20.3-beta' }));
    expect(await asked()).toBe(1);
    await program('grok', 'echo asked >>"$HOME/.local/bin/asked"; echo nothing to say');
    expect(await version()).toEqual({ status: 'configured' });
    expect(await asked()).toBe(2);
  });

  it('say nothing of a program that had no turn once, and what it said before stays', async () => {
    let busy: Error | undefined = new HostBusy('too much at once');
    const lent: Isolation['lent'] = (_, work) => (busy === undefined ? work(undefined) : Promise.reject(busy));
    host = new ProbeHost(home, ['/usr/bin', '/bin'], {
      lent,
      found: async () => ({ rules: { visible: [] } }),
      sandbox: async () => undefined,
      changeable: async () => ({ folders: [] }),
    } as unknown as Isolation);
    await program('claude', `echo '{"loggedIn":true,"authMethod":"claude.ai","apiProvider":"firstParty"}'; echo 1.2.3 >&2`);
    await program('kiro-cli', 'exit 1');
    const unheard = new Set<string>();
    const found = async (): Promise<unknown[]> => {
      const results = await probeAll(host, unheard);
      return ['claude', 'kiro', 'codex'].map((item) => results.get(item)?.status);
    };
    expect(await found()).toEqual([undefined, undefined, 'not_installed']);
    expect(await found()).toEqual(['probe_error', 'probe_error', 'not_installed']);
    busy = undefined;
    expect(await probeAll(host, unheard)).toEqual(new Map(await probeAll(host)));
    expect((await probeAll(host, unheard)).get('claude')).toEqual({ status: 'configured', version: '1.2.3' });
    busy = Object.assign(new Error('no room'), { code: 'EMFILE' });
    expect(await found()).toEqual([undefined, undefined, 'not_installed']);
    busy = new StartError('unsupported', 'a link');
    expect(await found()).toEqual(['probe_error', 'probe_error', 'not_installed']);
    expect(unheard.size).toBe(0);
  });

  it('say nothing of programs that nobody could look for once', async () => {
    await put('.nvm/versions/node/v24.0.0/bin/codex', '#!/bin/sh\n');
    await chmod(path.join(home, '.nvm/versions/node/v24.0.0/bin/codex'), 0o755);
    const unheard = new Set<string>();
    const found = async (): Promise<unknown> => (await probeAll(host, unheard)).get('codex')?.status;
    const readdir = jest.spyOn(promises, 'readdir').mockRejectedValue(Object.assign(new Error('no room'), { code: 'EMFILE' }));
    syncBuiltinESMExports();
    try {
      expect(await found()).toBeUndefined();
    } finally {
      readdir.mockRestore();
      syncBuiltinESMExports();
    }
    expect(await found()).toBe('needs_auth');
    expect(unheard.size).toBe(0);
  });

  it('have a command that mends each status, but for what is always there', () => {
    for (const { name } of READINESS_ITEMS)
      for (const found of READINESS_STATUSES)
        expect([name, found, typeof remedyOf(name, found)]).toEqual([
          name,
          found,
          name === 'loopback' || found === 'configured' ? 'undefined' : 'string',
        ]);
  });

  it('report files that cannot be read', async () => {
    await program('codex');
    await mkdir(path.join(home, '.codex/auth.json'), { recursive: true });
    expect(await status('codex')).toBe('probe_error');
  });

  it('wait for no pipe that an agent has put in the place of a file', async () => {
    await program('codex');
    await mkdir(path.join(home, '.codex'));
    execFileSync('mkfifo', [path.join(home, '.codex/auth.json')]);
    expect(await status('codex')).not.toBe('configured');
  });

  (hasBubblewrap ? it : it.skip)('run commands in a sandbox, which sees how one is signed in and nothing else', async () => {
    const data = await mkdtemp(path.join(tmpdir(), 'svc-probe-data-'));
    host = new ProbeHost(home, ['/usr/bin', '/bin'], isolationOf(data));
    await put('.ssh/id', 'secret');
    await put('.claude/login', 'signed in');
    await put('.codex/auth.json', 'of another');
    const look = `ls -A "$HOME"; cat "$HOME"/.ssh/id "$HOME"/.codex/auth.json ${data}/x /proc/${process.pid}/environ; cat "$HOME/.claude/login"`;
    await writeFile(path.join(data, 'x'), 'secret');
    await program('claude', `(${look}) >"$HOME/.claude/seen" 2>/dev/null; echo '{"loggedIn":false}'`);
    expect(await status('claude')).toBe('needs_auth');
    expect(await host.read('.claude/seen')).toBe('.claude\n.local\nsigned in');
    await rm(data, { recursive: true });
  });

  (process.getuid?.() === 0 ? it : it.skip)('run commands as a user of nobody where users are the walls (skipped: not root)', async () => {
    const data = await mkdtemp(path.join(tmpdir(), 'svc-probe-data-'));
    const { first, count } = USER_NUMBERS.sessions;
    const lent = first + count - 1;
    await writeFile(path.join(data, 'host.toml'), USERS_OF_HOST);
    await writeFile(path.join(data, 'admin.key'), 'secret', { mode: 0o600 });
    const isolation = isolationOf(data, 'users');
    try {
      host = new ProbeHost(home, ['/usr/bin', '/bin'], isolation);
      const look = `cat ${data}/admin.key ${home}/x /proc/${process.pid}/environ 2>/dev/null; id -u; test "$HOME" = ${home} || echo own`;
      await put('x', 'secret');
      await chmod(path.join(home, 'x'), 0o600);
      expect(await host.run('sh', ['-c', look])).toEqual({ code: 0, stdout: `${lent}\nown\n`, stderr: '' });
      expect((await host.run('sh', ['-c', '(setsid sleep 86395 >/dev/null 2>&1 &)'])).code).toBe(0);
      expect((await listProcesses()).filter((entry) => entry.user?.() === lent)).toEqual([]);
    } finally {
      isolation.onApplicationShutdown();
      await rm(data, { recursive: true });
    }
  });
});
