import { execFileSync, spawn, type ChildProcess } from 'node:child_process';
import { existsSync } from 'node:fs';
import { chmod, mkdir, mkdtemp, readFile, realpath, rm, writeFile } from 'node:fs/promises';
import { createServer, type AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { eventually } from '../../../test/support/sse.js';
import { USER_NUMBERS } from '../../../test/support/user-numbers.js';
import type { Isolation } from '../isolation/isolation.js';
import { isolationOf } from '../isolation/testing/isolation.js';
import type { OutgoingGuard } from '../outgoing/outgoing-guard.js';
import type { Remote } from './git-environment.js';
import { Git } from './git.js';
import { GitRunner } from './git-runner.js';
import { SshLine } from './ssh-line.js';

const SSHD = '/usr/sbin/sshd';
const LIMITS = { bytes: 1_000_000, files: 10 };
const forever = new AbortController().signal;

it.each(['/a%zz', '/a%00b'])('has no place for a path that no repository can have: %s', (pathname) => {
  const remote: Remote = { url: `ssh://git@example.org${pathname}`, transport: 'ssh', host: 'example.org', port: undefined };
  expect(() => new SshLine(remote, {})).toThrow(expect.objectContaining({ name: 'GitFailure', reason: 'not_found' }));
});

(process.getuid?.() === 0 ? describe : describe.skip)('git by ssh where users are the walls (skipped: not root)', () => {
  const { cities, sessions } = USER_NUMBERS;
  let base: string;
  let source: string;
  let isolation: Isolation;
  let runs = 0;

  beforeAll(async () => {
    base = await realpath(await mkdtemp(path.join(tmpdir(), 'svc-git-ssh-')));
    await mkdir(path.join(base, 'cities'));
    const range = ({ first, count }: typeof cities): string => `{ first = ${first}, count = ${count} }`;
    await writeFile(path.join(base, 'host.toml'), `[users]\ncities = ${range(cities)}\nsessions = ${range(sessions)}\n`);
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
    return new Git({ resolve: () => Promise.resolve(['127.0.0.1']) } as unknown as OutgoingGuard, { together } as GitRunner);
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
    await git.clone(remote, cloned, { ...LIMITS, files: 100 }, forever);
    expect(await readFile(path.join(cloned, 'pack.toml'), 'utf8')).toBe('name = "far"\n');
  });

  it('tells why ssh has not got there, and ends with its time', async () => {
    const refused = gitWith(`sh -c 'echo "git@h: Permission denied (publickey)." >&2; exit 255'`);
    await expect(refused.list(remoteAt('git'), [], forever)).rejects.toMatchObject({ reason: 'credentials' });
    const silent = gitWith(`sh -c 'exec sleep 86396'`);
    await expect(silent.list(remoteAt('git'), [], AbortSignal.timeout(300))).rejects.toMatchObject({ reason: 'timeout' });
    expect(execFileSync('sh', ['-c', "ps -eo args | grep -c '[s]leep 86396' || true"], { encoding: 'utf8' })).toBe('0\n');
  });

  (existsSync(SSHD) ? describe : describe.skip)('with a server of ssh (skipped: there is none)', () => {
    let server: ChildProcess;
    let port: number;
    const at = (name: string): string => path.join(base, name);
    const options = (known: string): string => `ssh -F none -o BatchMode=yes -i '${at('key')}' -o UserKnownHostsFile='${at(known)}'`;

    beforeAll(async () => {
      for (const name of ['key', 'host', 'other']) execFileSync('ssh-keygen', ['-q', '-t', 'ed25519', '-N', '', '-f', at(name)]);
      const free = createServer().listen(0, '127.0.0.1');
      await new Promise((resolve) => free.once('listening', resolve));
      ({ port } = free.address() as AddressInfo);
      await new Promise((resolve) => free.close(resolve));
      for (const [file, key] of [
        ['known', 'host'],
        ['wrong', 'other'],
      ] as const)
        await writeFile(at(file), `[127.0.0.1]:${port} ${await readFile(at(`${key}.pub`), 'utf8')}`);
      const lines = [`Port ${port}`, 'ListenAddress 127.0.0.1', `HostKey ${at('host')}`, `AuthorizedKeysFile ${at('key.pub')}`];
      const more = ['StrictModes no', 'UsePAM no', 'PermitRootLogin yes', 'AcceptEnv GIT_PROTOCOL', `PidFile ${at('sshd.pid')}`];
      await writeFile(at('sshd.conf'), [...lines, ...more, ''].join('\n'));
      await mkdir('/run/sshd', { recursive: true });
      server = spawn(SSHD, ['-D', '-e', '-f', at('sshd.conf')], { stdio: ['ignore', 'ignore', 'pipe'] });
      let said = '';
      server.stderr!.on('data', (chunk: Buffer) => (said += chunk.toString()));
      await eventually(() => said.includes('listening on'));
    });
    afterAll(() => void server.kill());

    it('checks out what a key lets in to, at a host that is known', async () => {
      const remote = remoteAt('root', port);
      const git = gitWith(options('known'));
      const commit = (await git.list(remote, [], forever)).get('HEAD')!;
      const [into, work] = [folder(), folder()];
      await mkdir(work);
      await git.checkout(remote, commit, into, work, LIMITS, forever);
      expect(await readFile(path.join(into, 'pack.toml'), 'utf8')).toBe('name = "far"\n');
    });

    it('believes no host that has another key', async () => {
      const refused = gitWith(options('wrong')).list(remoteAt('root', port), [], forever);
      await expect(refused).rejects.toMatchObject({ reason: 'unreachable', message: 'the key of the host is not known here' });
    });
  });
});
