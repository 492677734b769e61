import { chmod, mkdir, mkdtemp, readdir, readFile, realpath, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { Authority } from '../../../test/support/authority.js';
import { hasBubblewrap } from '../../../test/support/bubblewrap.js';
import { USER_NUMBERS } from '../../../test/support/user-numbers.js';
import { AppConfig, loadConfig } from '../config/config.js';
import { readHostFile } from '../isolation/host-file.js';
import type { Isolation } from '../isolation/isolation.js';
import { isolationOf } from '../isolation/testing/isolation.js';
import { AppLogger } from '../logging/logger.js';
import { OutgoingGuard } from '../outgoing/outgoing-guard.js';
import { GitCredentials } from './git-credentials.js';
import type { Remote } from './git-environment.js';
import { GitRunner } from './git-runner.js';
import { Git } from './git.js';
import type { SignIn } from './sign-in.js';
import { gitServer, type GitServer } from './testing/git-server.js';
import { TestRepository } from './testing/repository.js';

const SECRET = 'tok-5ecret-of-the-operator';
const LIMITS = { bytes: 1_000_000, files: 100 };
const forever = new AbortController().signal;
const { cities, sessions } = USER_NUMBERS;
const range = ({ first, count }: typeof cities): string => `{ first = ${first}, count = ${count} }`;

let base: string;
const isolations: Isolation[] = [];
const at = (...parts: string[]): string => path.join(base, ...parts);

beforeAll(async () => {
  base = await realpath(await mkdtemp(path.join(tmpdir(), 'svc-git-credentials-')));
  await mkdir(at('cities'));
  for (const name of ['key', 'known']) await writeFile(at(name), 'x', { mode: 0o600 });
  await writeFile(at('token'), `${SECRET}\n`, { mode: 0o600 });
});
afterAll(async () => {
  for (const isolation of isolations) isolation.onApplicationShutdown();
  await rm(base, { recursive: true });
});

/** An operator's host: a data directory of its own with these rules. */
async function host(rules: string, kind = 'none'): Promise<{ isolation: Isolation; config: AppConfig }> {
  const dataDir = await mkdtemp(at('data-'));
  await writeFile(path.join(dataDir, 'host.toml'), `${rules}\n[users]\ncities = ${range(cities)}\nsessions = ${range(sessions)}\n`);
  const isolation = isolationOf(dataDir, kind);
  isolations.push(isolation);
  return { isolation, config: loadConfig({ SVC_DATA_DIR: dataDir, SVC_ALLOWED_TARGETS: '127.0.0.1' }, '/') };
}
/** What the log of the host has. */
let logged: string[] = [];
const log = new AppLogger({ warn: (fields: unknown, message: string) => logged.push(`${JSON.stringify(fields)} ${message}`) } as never);
const rule = (...lines: string[]): string => ['[[git.credentials]]', ...lines, ''].join('\n');
const remote = (transport: 'https' | 'http' | 'ssh', where: string, port?: number): Remote => ({
  url: `${transport}://${where}${port === undefined ? '' : `:${port}`}/team/shop.git`,
  transport,
  host: where,
  port,
});
const asked = async (rules: string, to: Remote, city: string | undefined, auth: 'off' | 'keys' = 'keys'): Promise<SignIn> => {
  const { isolation, config } = await host(rules);
  return new GitCredentials(config.with({ auth }), isolation, log).of(to, city, forever);
};

describe('credentials of git', () => {
  beforeEach(() => {
    logged = [];
  });

  const rules = (): string =>
    rule('host = "Git.example.org"', 'cities = ["crew", "team-*"]', `ssh_key = "${at('key')}"`, `known_hosts = "${at('known')}"`) +
    rule('host = "git.example.org"', 'cities = ["crew"]', `token_file = "${at('token')}"`, 'username = "robot"') +
    rule('host = "*.lan:8443"', `token_file = "${at('token')}"`);
  const key = (): SignIn => ({ kind: 'key', key: at('key'), knownHosts: at('known'), user: undefined });
  const token = (username: string): SignIn => ({ kind: 'token', username, password: SECRET, ca: undefined });

  it('are those of the rule for the transport, the host with its port, and the city', async () => {
    for (const city of ['crew', 'team-', 'team-a']) expect(await asked(rules(), remote('ssh', 'git.example.org'), city)).toEqual(key());
    expect(await asked(rules(), remote('ssh', 'git.example.org', 22), 'crew')).toEqual(key());
    expect(await asked(rules(), remote('https', 'git.example.org'), 'crew')).toEqual(token('robot'));
    expect(await asked(rules(), remote('https', 'a.b.lan', 8443), 'any')).toEqual(token('git'));
  });

  it.each([
    ['ssh', 'git.example.org', 'team', undefined],
    ['ssh', 'git.example.org', 'crew', 2222],
    ['ssh', 'a.git.example.org', 'crew', undefined],
    ['ssh', 'evil-git.example.org', 'crew', undefined],
    ['https', 'git.example.org', 'team-a', undefined],
    ['https', 'git.example.org', 'crew', 8443],
    ['http', 'git.example.org', 'crew', undefined],
    ['https', 'lan', 'crew', 8443],
    ['https', 'a.lan', 'crew', undefined],
    ['https', 'a.lan.example.org', 'crew', 8443],
    // What all cities share has the rules of all cities alone.
    ['https', 'git.example.org', undefined, undefined],
  ] as const)('are nobody’s for %s at %s, city %s, port %s', async (transport, where, city, port) => {
    const found = asked(rules(), remote(transport, where, port), city);
    if (transport !== 'ssh') expect(await found).toEqual({ kind: 'none', ca: undefined });
    else await expect(found).rejects.toMatchObject({ reason: 'credentials', message: expect.stringContaining(where) });
  });

  it('are those of the service’s user where nobody needs a key, and no rule names the host', async () => {
    expect(await asked(rules(), remote('ssh', 'other.example.org'), 'crew', 'off')).toEqual({ kind: 'own' });
    expect(await asked(rules(), remote('https', 'other.example.org'), undefined, 'off')).toEqual({ kind: 'own' });
    expect(await asked(rules(), remote('https', 'git.example.org'), 'team-a', 'off')).toEqual({ kind: 'none', ca: undefined });
    await expect(asked(rules(), remote('ssh', 'git.example.org'), 'other', 'off')).rejects.toMatchObject({ reason: 'credentials' });
  });

  it('come from a program of the operator’s that speaks as git’s helpers do', async () => {
    await writeFile(
      at('helper'),
      `#!/bin/sh\necho "$*" >${at('heard')}; cat >>${at('heard')}\necho username=robot; echo password=${SECRET}\n`,
    );
    await chmod(at('helper'), 0o755);
    const helped = rule('host = "git.example.org:8443"', `helper = ["${at('helper')}", "--for", "svc"]`);
    expect(await asked(helped, remote('https', 'git.example.org', 8443), 'crew')).toEqual(token('robot'));
    expect(await readFile(at('heard'), 'utf8')).toBe('--for svc get\nprotocol=https\nhost=git.example.org:8443\npath=team/shop.git\n\n');
    await writeFile(at('helper'), '#!/bin/sh\necho quit=1\n');
    expect(await asked(helped, remote('https', 'git.example.org', 8443), 'crew')).toEqual({ kind: 'none', ca: undefined });
    await writeFile(at('helper'), `#!/bin/sh\necho "password=${SECRET}"; echo "not ${SECRET}" >&2; exit 1\n`);
    const failed = asked(helped, remote('https', 'git.example.org', 8443), 'crew');
    await expect(failed).rejects.toMatchObject({ reason: 'unavailable' });
    const { message, cause } = (await failed.catch((error: unknown) => error)) as Error;
    expect(`${message} ${String(cause)} ${logged.join('')}`).not.toContain(SECRET);
    expect(logged).toEqual([expect.stringContaining('it ended with 1')]);
  });

  it.each([
    ['ssh', 'ssh_key = "/nowhere/key"\nknown_hosts = "/nowhere/known"'],
    ['https', 'token_file = "/nowhere/token"'],
    ['https', 'helper = ["/nowhere/helper"]'],
    ['https', 'ca_cert = "/nowhere/ca.pem"'],
  ] as const)('that are not there are told without their place, which the log of the host has: %s, %s', async (transport, line) => {
    const failed = asked(rule('host = "git.example.org"', line), remote(transport, 'git.example.org'), 'crew');
    await expect(failed).rejects.toMatchObject({ reason: 'unavailable', message: expect.not.stringContaining('nowhere') });
    expect(logged).toEqual([expect.stringMatching(/"host":"git\.example\.org","why":".*(nowhere|ENOENT)/)]);
  });

  it('are no key that ssh refuses because others may read it', async () => {
    await writeFile(at('open'), 'x', { mode: 0o640 });
    const named = rule('host = "git.example.org"', `ssh_key = "${at('open')}"`, `known_hosts = "${at('known')}"`);
    const failed = asked(named, remote('ssh', 'git.example.org'), 'crew');
    await expect(failed).rejects.toMatchObject({ reason: 'unavailable', message: expect.not.stringContaining(at('open')) });
    expect(logged).toEqual([expect.stringContaining(`chmod 600 ${at('open')}`)]);
    await chmod(at('open'), 0o600);
    expect(await asked(named, remote('ssh', 'git.example.org'), 'crew')).toMatchObject({ key: at('open') });
  });

  it.each([
    ['host = "*"', 'git.credentials.0.host: has to be a host'],
    ['host = "-oProxyCommand=x"', 'git.credentials.0.host: has to be a host'],
    ['host = "https://h"', 'git.credentials.0.host: has to be a host'],
    ['host = "h"\nssh_key = "/k"\ntoken_file = "/t"', 'has more than one of'],
    ['host = "h"\nknown_hosts = "/k"', 'has known_hosts or user without ssh_key'],
    ['host = "h"\nssh_key = "/k y"', 'has characters that ssh would read'],
    ['host = "h"\nssh_key = "/k%h"', 'has characters that ssh would read'],
    ['host = "h"\nssh_key = "/k"\nuser = "-oX"', 'is no name of a user'],
    ['host = "h"\nhelper = ["token-for"]', 'has to be absolute'],
    ['host = "h"\nusername = "x"', 'has username without token_file'],
    ['host = "h"\ntoken = "x"', 'Unrecognized key'],
  ])('have to be written right: %j', async (lines, message) => {
    const { isolation } = await host(rule(lines));
    await expect(readHostFile(isolation.hostFile)).rejects.toThrow(message);
    const found = asked(rule(lines), remote('https', 'h'), 'crew');
    await expect(found).rejects.toMatchObject({ reason: 'unavailable', message: 'host.toml of this host cannot be used' });
    expect(logged).toEqual([expect.stringContaining(JSON.stringify(message).slice(1, -1))]);
  });

  it('leave no line of a file that is no TOML in the log', async () => {
    await expect(asked(`token = "${SECRET}\n`, remote('https', 'h'), 'crew')).rejects.toMatchObject({ reason: 'unavailable' });
    expect(logged).toHaveLength(1);
    expect(logged.join('')).not.toContain(SECRET);
  });
});

const KINDS = ['none', ...(hasBubblewrap ? ['bubblewrap'] : []), ...(process.getuid?.() === 0 ? ['users'] : [])];

describe('git with a token', () => {
  let server: GitServer;
  let ca: string;
  let looked: string[] = [];

  /** All that anybody on this host may see of a process: of this one git is a child, and waits. */
  const look = async (): Promise<void> => {
    for (const pid of await readdir('/proc')) {
      if (!/^\d+$/.test(pid)) continue;
      for (const file of ['cmdline', 'environ']) looked.push(await readFile(`/proc/${pid}/${file}`, 'latin1').catch(() => ''));
    }
  };

  beforeAll(async () => {
    const repository = await TestRepository.make(at('served/shop'));
    await repository.commit({ 'README.md': 'shop\n' });
    const authority = await Authority.in(base);
    ca = authority.file;
    await chmod(base, 0o755);
    const { cert, key } = await authority.issue();
    const tls = { cert: await readFile(cert, 'utf8'), key: await readFile(key, 'utf8') };
    server = await gitServer(at('served'), { tls, login: { username: 'robot', password: SECRET, seen: look } });
  });
  afterAll(() => server.close());

  const shop = (): Remote => {
    const { hostname, port } = new URL(server.url);
    return { url: `${server.url}/smart/shop/.git`, transport: 'https', host: hostname, port: Number(port) };
  };
  const gitOn = async (kind: string, ...lines: string[]): Promise<Git> => {
    const { isolation, config } = await host(rule(`host = "${server.target}"`, `ca_cert = "${ca}"`, ...lines), kind);
    return new Git(new OutgoingGuard(config), new GitCredentials(config, isolation, log), new GitRunner(isolation));
  };

  it.each(KINDS)('clones, and leaves it nowhere, where %s is the wall', async (kind) => {
    looked = [];
    const git = await gitOn(kind, `token_file = "${at('token')}"`, 'username = "robot"');
    const into = at('cities', `of-${kind}`);
    await git.clone(shop(), { into, city: 'crew' }, LIMITS, forever);
    expect(await readFile(path.join(into, 'README.md'), 'utf8')).toBe('shop\n');
    // git was there to be seen.
    expect(looked.filter((text) => text.includes('remote-https') && text.includes(server.target)).length).toBeGreaterThan(0);
    const inGit = await readdir(path.join(into, '.git'), { recursive: true, withFileTypes: true });
    const files = inGit.filter((entry) => entry.isFile()).map((entry) => path.join(entry.parentPath, entry.name));
    const texts = [...looked, ...(await Promise.all(files.map((file) => readFile(file, 'latin1'))))];
    const base64 = Buffer.from(`robot:${SECRET}`).toString('base64');
    expect(texts.filter((text) => text.includes(SECRET) || text.includes(base64))).toEqual([]);
  });

  it.each(KINDS)('tells that it is the wrong one, and that there is none, where %s is the wall', async (kind) => {
    const wrong = await gitOn(kind, `token_file = "${at('token')}"`, 'username = "somebody"');
    const refused = wrong.clone(shop(), { into: at('cities', `not-${kind}`), city: 'crew' }, LIMITS, forever);
    await expect(refused).rejects.toMatchObject({ reason: 'credentials', message: 'the host demands credentials' });
  });

  it.each(KINDS)('has nothing of what the service’s user has instead, where %s is the wall', async (kind) => {
    const before = process.env.HOME;
    const home = await mkdtemp(at('home-'));
    await writeFile(path.join(home, '.netrc'), `machine 127.0.0.1 login robot password ${SECRET}\n`, { mode: 0o600 });
    process.env.HOME = home;
    try {
      const listed = (git: Git): Promise<boolean> => git.list(shop(), [], forever).then((refs) => refs.size > 0);
      await expect(listed(await gitOn(kind))).rejects.toMatchObject({ reason: 'credentials' });
      if (kind !== 'none') return;
      // It is there to be had, or this would prove nothing.
      const { isolation, config } = await host('');
      const own = { of: () => Promise.resolve({ kind: 'own' }) } as unknown as GitCredentials;
      const runner = new GitRunner(isolation);
      const together: GitRunner['together'] = (to, folders, work) =>
        runner.together(to, folders, (run) => work((one) => run({ ...one, env: { ...one.env, GIT_SSL_CAINFO: ca } })));
      expect(await listed(new Git(new OutgoingGuard(config), own, { together } as GitRunner))).toBe(true);
    } finally {
      if (before === undefined) delete process.env.HOME;
      else process.env.HOME = before;
    }
  });

  it('calls no host whose certificate is another’s', async () => {
    const { isolation, config } = await host(rule(`host = "${server.target}"`, `token_file = "${at('token')}"`));
    const git = new Git(new OutgoingGuard(config), new GitCredentials(config, isolation, log), new GitRunner(isolation));
    const before = server.requests.length;
    await expect(git.list(shop(), [], forever)).rejects.toMatchObject({ reason: 'unreachable' });
    expect(server.requests).toHaveLength(before);
  });
});
