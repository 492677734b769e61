import { chmod, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { probeAll } from '../provider-prober.js';
import { READINESS_ITEMS } from '../providers.catalogue.js';
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
  it('exist for every item', () => {
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

  it('give commands no more than a small environment', async () => {
    process.env.SVC_PROBE_SECRET = 'x';
    await program('gh', 'env > "$HOME/seen"; exit 0');
    await probeAll(host);
    delete process.env.SVC_PROBE_SECRET;
    expect(await host.read('seen')).not.toContain('SVC_PROBE_SECRET');
  });

  it('report files that cannot be read', async () => {
    await program('codex');
    await mkdir(path.join(home, '.codex/auth.json'), { recursive: true });
    expect(await status('codex')).toBe('probe_error');
  });
});
