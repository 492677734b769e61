import { execFileSync } from 'node:child_process';
import { chmod, mkdir, mkdtemp, readFile, realpath, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { hasBubblewrap } from '../../../test/support/bubblewrap.js';
import { USER_NUMBERS } from '../../../test/support/user-numbers.js';
import { loadConfig } from '../config/config.js';
import type { Isolation } from '../isolation/isolation.js';
import { isolationOf } from '../isolation/testing/isolation.js';
import { OutgoingGuard } from '../outgoing/outgoing-guard.js';
import type { GitCredentials } from './git-credentials.js';
import type { Remote } from './git-environment.js';
import { Git } from './git.js';
import { GitRunner } from './git-runner.js';
import type { KeySignIn } from './sign-in.js';
import { sshProgram } from './ssh-line.js';
import { TestRepository } from './testing/repository.js';
import { noCredentials } from './testing/runner.js';
import { hasSshServer, sshServer, type SshServer } from './testing/ssh-server.js';

const { cities, sessions } = USER_NUMBERS;
const range = ({ first, count }: typeof cities): string => `{ first = ${first}, count = ${count} }`;
const HOST_FILE = `[users]\ncities = ${range(cities)}\nsessions = ${range(sessions)}\n`;
const LIMITS = { bytes: 1_000_000, files: 10 };
const forever = new AbortController().signal;

it.each(['/a%zz', '/a%00b'])('has no place for a path that no repository can have: %s', (pathname) => {
  const remote: Remote = { url: `ssh://git@example.org${pathname}`, transport: 'ssh', host: 'example.org', port: undefined };
  expect(() => sshProgram(remote, {})).toThrow(expect.objectContaining({ name: 'GitFailure', reason: 'not_found' }));
});

(process.getuid?.() === 0 ? describe : describe.skip)('git by ssh where users are the walls (skipped: not root)', () => {
  let base: string;
  let source: string;
  let isolation: Isolation;
  let runs = 0;

  beforeAll(async () => {
    base = await realpath(await mkdtemp(path.join(tmpdir(), 'svc-git-ssh-')));
    await mkdir(path.join(base, 'cities'));
    await writeFile(path.join(base, 'host.toml'), HOST_FILE);
    isolation = isolationOf(base, 'users');
    source = path.join(base, "it's source.git");
    const seed = path.join(base, 'seed');
    execFileSync('git', ['init', '-q', '-b', 'trunk', seed]);
    await writeFile(path.join(seed, 'pack.toml'), 'name = "far"\n');
    execFileSync('git', ['-C', seed, 'add', '.']);
    execFileSync('git', ['-C', seed, '-c', 'user.name=x', '-c', 'user.email=x@x', 'commit', '-q', '-m', 'x']);
    execFileSync('git', ['clone', '-q', '--bare', seed, source]);
    await chmod(source, 0o700);
  });
  afterAll(async () => {
    isolation.onApplicationShutdown();
    await rm(base, { recursive: true });
  });

  const remoteAt = (user: string, port?: number): Remote => {
    const url = `ssh://${user}@127.0.0.1${port === undefined ? '' : `:${port}`}${source.replaceAll(' ', '%20')}`;
    return { url, transport: 'ssh', host: '127.0.0.1', port };
  };
  /** Git as it is, with this in place of what it says of ssh. */
  const gitWith = (ssh: string): Git => {
    const runner = new GitRunner(isolation);
    const together: GitRunner['together'] = (remote, folders, work) =>
      runner.together(remote, folders, (run) => work((one) => run({ ...one, env: { ...one.env, GIT_SSH_COMMAND: ssh } })));
    const guard = { resolve: () => Promise.resolve(['127.0.0.1']) } as unknown as OutgoingGuard;
    return new Git(guard, noCredentials, { together } as GitRunner);
  };
  const folder = (): string => path.join(base, 'cities', `run-${++runs}`);

  it('calls through an ssh of the service, and has nothing of what that signs in with', async () => {
    const [ssh, told] = [path.join(base, 'ssh'), path.join(base, 'told')];
    await writeFile(ssh, `id -u >>'${told}'; echo "$*" >>'${told}'; for last in "$@"; do :; done; eval "$last"\n`);
    const git = gitWith(`sh '${ssh}'`);
    const remote = remoteAt('git', 2222);
    const commit = (await git.list(remote, [], forever)).get('refs/heads/trunk')!;
    expect(commit).toMatch(/^[0-9a-f]{40}$/);
    const asked = `-o SendEnv=GIT_PROTOCOL -p 2222 -- git@127.0.0.1 git-upload-pack '${source.replace("'", "'\\''")}'`;
    expect(await readFile(told, 'utf8')).toBe(`0\n${asked}\n`);
    const [into, work] = [folder(), folder()];
    await mkdir(work);
    await git.checkout(remote, commit, into, work, LIMITS, forever);
    expect(await readFile(path.join(into, 'pack.toml'), 'utf8')).toBe('name = "far"\n');
    const cloned = folder();
    await git.clone(remote, { into: cloned, city: 'alpha' }, { ...LIMITS, files: 100 }, forever);
    expect(await readFile(path.join(cloned, 'pack.toml'), 'utf8')).toBe('name = "far"\n');
  });

  it('tells why ssh has not got there, and ends with its time', async () => {
    const refused = gitWith(`sh -c 'echo "git@h: Permission denied (publickey)." >&2; exit 255'`);
    await expect(refused.list(remoteAt('git'), [], forever)).rejects.toMatchObject({ reason: 'credentials' });
    // Its own, also where another run of this file looks for what it has left at the same time.
    const seconds = 86_400 + process.pid;
    const silent = gitWith(`sh -c 'exec sleep ${seconds}'`);
    await expect(silent.list(remoteAt('git'), [], AbortSignal.timeout(300))).rejects.toMatchObject({ reason: 'timeout' });
    expect(execFileSync('sh', ['-c', `ps -eo args | grep -c '[s]leep ${seconds}' || true`], { encoding: 'utf8' })).toBe('0\n');
  });
});

const KINDS = ['none', ...(hasBubblewrap ? ['bubblewrap'] : []), ...(process.getuid?.() === 0 ? ['users'] : [])];

(hasSshServer ? describe : describe.skip)('git by a real ssh (skipped: there is no server)', () => {
  let base: string;
  let server: SshServer;
  let commit: string;
  const isolations: Isolation[] = [];

  beforeAll(async () => {
    base = await realpath(await mkdtemp(path.join(tmpdir(), 'svc-git-sshd-')));
    await mkdir(path.join(base, 'cities'));
    await writeFile(path.join(base, 'host.toml'), HOST_FILE);
    const repository = await TestRepository.make(path.join(base, 'far'));
    commit = await repository.commit({ 'pack.toml': 'name = "far"\n' });
    server = await sshServer(path.join(base, 'ssh'));
  });
  afterAll(async () => {
    await server?.close();
    for (const isolation of isolations) isolation.onApplicationShutdown();
    await rm(base, { recursive: true });
  });

  const remote = (host = '127.0.0.1'): Remote => {
    const url = `ssh://git@${host}:${server.port}${path.join(base, 'far')}`;
    return { url, transport: 'ssh', host, port: server.port };
  };
  const gitOn = (kind: string, signIn: Partial<KeySignIn> = {}): Git => {
    const isolation = isolationOf(base, kind);
    isolations.push(isolation);
    const own = { kind: 'key', key: server.key, knownHosts: server.knownHosts, user: server.user, ...signIn } as const;
    const credentials = { of: () => Promise.resolve(own) } as unknown as GitCredentials;
    const config = loadConfig({ SVC_ALLOWED_TARGETS: '127.0.0.0/8' }, '/');
    return new Git(new OutgoingGuard(config), credentials, new GitRunner(isolation));
  };

  it.each(KINDS)('clones what a key lets in to, at a host that is known, where %s is the wall', async (kind) => {
    const into = path.join(base, 'cities', `of-${kind}`);
    const git = gitOn(kind);
    expect((await git.list(remote(), [], forever)).get('HEAD')).toBe(commit);
    await git.clone(remote(), { into, city: 'alpha' }, { ...LIMITS, files: 100 }, forever);
    expect(await readFile(path.join(into, 'pack.toml'), 'utf8')).toBe('name = "far"\n');
    expect(await readFile(path.join(into, '.git/config'), 'utf8')).toContain(`url = ssh://git@127.0.0.1:${server.port}/`);
  });

  it.each(KINDS)('believes no host that has another key, and no key that it does not know, where %s is the wall', async (kind) => {
    const other = gitOn(kind, { knownHosts: server.wrongHosts }).list(remote(), [], forever);
    await expect(other).rejects.toMatchObject({ reason: 'unreachable', message: 'the key of the host is not known here' });
    const stranger = gitOn(kind, { key: server.stranger }).list(remote(), [], forever);
    await expect(stranger).rejects.toMatchObject({ reason: 'credentials' });
  });
});
