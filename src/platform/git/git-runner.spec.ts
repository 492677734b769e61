import { execFileSync } from 'node:child_process';
import { chmod, chown, mkdir, mkdtemp, readdir, realpath, rename, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { homedir, tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { hasBubblewrap } from '../../../test/support/bubblewrap.js';
import { freePort } from '../../../test/support/redis.js';
import { USER_NUMBERS } from '../../../test/support/user-numbers.js';
import type { Isolation } from '../isolation/isolation.js';
import { isolationOf } from '../isolation/testing/isolation.js';
import { listProcesses } from '../runtime/process-table.js';
import type { OutgoingGuard } from '../outgoing/outgoing-guard.js';
import { gitEnvironment, HEARS, type Remote } from './git-environment.js';
import { Git } from './git.js';
import { GitRunner, type Place, type WalledRun } from './git-runner.js';
import { noCredentials } from './testing/runner.js';

let base: string;
let own: string;
const before = process.env.HOME;
const forever = new AbortController().signal;

beforeAll(async () => {
  base = await realpath(await mkdtemp(path.join(tmpdir(), 'svc-git-wall-')));
  own = path.join(base, 'cities/port/rig');
  for (const folder of ['cities/port/rig', 'cities/quay', 'home/.ssh']) await mkdir(path.join(base, folder), { recursive: true });
  for (const file of ['admin.key', 'cities/quay/secret', 'home/.netrc', 'home/.ssh/known_hosts', 'home/.bashrc'])
    await writeFile(path.join(base, file), 'secret\n');
  await writeFile(path.join(own, 'file'), 'own\n');
  process.env.HOME = path.join(base, 'home');
});
afterAll(async () => {
  if (before === undefined) delete process.env.HOME;
  else process.env.HOME = before;
  await rm(base, { recursive: true });
});

const REMOTE: Remote = { url: 'https://h/x', transport: 'https', host: 'h', port: undefined, signIn: { kind: 'own' } };

/** What a command says that runs where git does. */
async function said(line: string, places: readonly Place[], remote?: Remote, runner = new GitRunner(isolationOf(base))): Promise<string> {
  const args = ['-c', `alias.say=!${line}`, 'say'];
  const { stdout, stderr } = await runner.run({ args, cwd: '/', env: gitEnvironment(undefined), signal: forever, places, remote });
  return stdout.toString() + stderr;
}

(hasBubblewrap ? describe : describe.skip)('git behind a wall', () => {
  const writable = (): Place[] => [{ at: own, mode: 'write' }];

  it('sees what it works on, and nothing of the service, of other cities and of the host', async () => {
    const files = ['admin.key', 'cities/quay/secret', 'home/.netrc', 'home/.ssh/known_hosts', 'home/.bashrc', 'cities/port/rig/file'];
    const look = `cat ${files.map((file) => path.join(base, file)).join(' ')} /etc/shadow /proc/${process.pid}/environ 2>/dev/null`;
    expect(await said(look, writable())).toBe('own\n');
    expect(await said(`kill -0 ${process.pid} 2>/dev/null || echo gone; touch ~/made && ls -A ~`, writable())).toBe('gone\nmade\n');
    expect(await said(`touch ${own}/made && ls ${own}`, writable())).toBe('file\nmade\n');
    expect(await said(`touch ${own}/other 2>/dev/null || echo refused`, [{ at: own, mode: 'read' }])).toBe('refused\n');
  });

  it('has what its user signs in with for the one who is called, and certificates', async () => {
    const look = 'cd; ls -A . .ssh 2>/dev/null | xargs; touch .netrc .ssh/x 2>/dev/null || echo refused';
    expect(await said(look, [], REMOTE)).toBe('.: .netrc\nrefused\n');
    expect(await said(look, [], { ...REMOTE, signIn: undefined })).toBe('.:\nrefused\n');
    expect(await said('test -d /etc/ssl/certs && echo there', [])).toBe('there\n');
    // The first two lines are titles.
    const network = 'tail -n +3 /proc/net/dev | cut -d: -f1 | xargs';
    expect(await said(network, [])).toBe('lo\n');
    expect(await said(network, [], REMOTE)).toBe(execFileSync('sh', ['-c', network], { encoding: 'utf8' }));
    const source: Remote = { url: `file://${own}`, transport: 'file', host: '', port: undefined };
    expect(await said(`cat ${own}/file; touch ${own}/x 2>/dev/null || echo refused; ls -A ~`, [], source)).toBe('own\nrefused\n');
    expect(process.env.HOME).toBe(homedir());
  });

  it('has by ssh a line, and what signs in is behind another wall', async () => {
    const files = { key: path.join(base, 'admin.key'), knownHosts: path.join(base, 'home/.ssh/known_hosts') };
    const look = 'cd; ls -A; cat "$GIT_KEY" "$GIT_KNOWN_HOSTS" /run/svc-git/* admin.key 2>/dev/null';
    const env = { ...gitEnvironment(undefined), GIT_SSH_COMMAND: `sh -c '{ ${look}; } >&2'` };
    const bySsh = { url: 'ssh://git@h/x', transport: 'ssh', host: 'h', port: undefined } as const;
    const heard = async (signIn: Remote['signIn']): Promise<string[]> => {
      // Until the line ends: with git, ssh would end before it has said everything.
      const args = ['-c', `alias.say=!${look}; cat <&${HEARS}; true`, 'say'];
      const run: WalledRun = { args, cwd: '/', env, signal: forever, places: [], remote: { ...bySsh, signIn } };
      const { stdout, stderr } = await new GitRunner(isolationOf(base)).run(run);
      return [stdout.toString(), stderr];
    };
    expect(await heard({ kind: 'own' })).toEqual(['', '.ssh\n']);
    expect(await heard({ kind: 'key', ...files, user: undefined })).toEqual(['', 'secret\nsecret\nsecret\nsecret\n']);
  });

  it('has no ssh that reads what its user has configured', async () => {
    const config = path.join(base, 'home/.ssh/config');
    await writeFile(config, 'Match exec "echo executed >&2"\n');
    try {
      const port = await freePort();
      const remote: Remote = { url: `ssh://git@127.0.0.1:${port}/x`, transport: 'ssh', host: '127.0.0.1', port, signIn: { kind: 'own' } };
      const run: WalledRun = {
        args: ['ls-remote', remote.url],
        cwd: '/',
        env: gitEnvironment(remote, ['127.0.0.1']),
        signal: forever,
        places: [],
        remote,
      };
      const { stderr } = await new GitRunner(isolationOf(base)).run(run);
      expect(stderr).toContain('Connection refused');
      expect(stderr).not.toContain('executed');
    } finally {
      await rm(config);
    }
  });

  it('hears a token once, and repeats it to nobody', async () => {
    const remote: Remote = { ...REMOTE, signIn: { kind: 'token', username: 'robot', password: 'tok-5ecret', ca: undefined } };
    const args = ['-c', 'alias.say=!cat <&3 >&2; cat <&3; env; true', 'say'];
    const env = gitEnvironment(remote, ['127.0.0.1']);
    const { stdout, stderr } = await new GitRunner(isolationOf(base)).run({ args, cwd: '/', env, signal: forever, places: [], remote });
    expect(stderr).toBe('username=robot\npassword=***\n');
    expect(stdout.toString()).toContain('GIT_CONFIG_COUNT');
    expect(stdout.toString()).not.toContain('tok-5ecret');
  });

  it('works on no link, nor on what is put in the place of what was looked at', async () => {
    const [at, kept, linked] = ['place', 'kept', 'linked'].map((name) => path.join(base, 'cities/port', name)) as [string, string, string];
    await mkdir(at);
    await symlink(path.join(base, 'cities'), linked);
    const behind = path.join(linked, 'quay');
    for (const link of [linked, behind]) await expect(said('true', [{ at: link, mode: 'write' }])).rejects.toThrow(/link/);
    await expect(said('true', [{ at: path.join(base, 'none'), mode: 'read' }])).rejects.toThrow(/cannot be opened/);
    const isolation = isolationOf(base);
    // Right before bubblewrap is started an agent is as fast as it can be.
    const swapping = Object.assign(Object.create(isolation) as typeof isolation, {
      found: () => isolation.found(),
      sandbox: async (mounts: readonly Place[]) => {
        const sandbox = (await isolation.sandbox(mounts))!;
        const enter: typeof sandbox.enter = async (program) => {
          await rename(at, kept);
          await symlink(path.join(base, 'cities/quay'), at);
          return sandbox.enter(program);
        };
        return { enter };
      },
    });
    const look = [`cat ${at}/secret`, [{ at, mode: 'read' }], undefined] as const;
    expect(await said(...look, new GitRunner(swapping))).toBe('fatal: what git is to work on is another by now\n');
  });
});

(process.getuid?.() === 0 ? describe : describe.skip)('git where users are the walls (skipped: not root)', () => {
  const { cities, sessions } = USER_NUMBERS;
  const CITIES = cities.first;
  const LENT = sessions.first + sessions.count - 1;
  const isolation = (): Isolation => isolationOf(base, 'users');
  const used: Isolation[] = [];
  const runner = (): GitRunner => new GitRunner(used[used.push(isolation()) - 1]!);
  let work: string;

  beforeAll(async () => {
    const ranges = `cities = { first = ${CITIES}, count = ${cities.count} }\nsessions = { first = ${sessions.first}, count = ${sessions.count} }\n`;
    await writeFile(path.join(base, 'host.toml'), `[users]\n${ranges}`);
    await chmod(path.join(base, 'admin.key'), 0o600);
    await chmod(path.join(base, 'home'), 0o700);
  });
  beforeEach(async () => {
    work = await mkdtemp(path.join(base, 'cities/work-'));
  });
  afterEach(() => used.splice(0).forEach((each) => each.onApplicationShutdown()));

  const SECRETS = (): string =>
    `${base}/admin.key ${base}/cities/quay/secret ${base}/home/.bashrc /etc/shadow /proc/${process.pid}/environ`;
  const together = (line: string, remote = REMOTE): Promise<string> =>
    runner().together(remote, [work], async (run) => {
      const args = ['-c', `alias.say=!${line}`, 'say'];
      const { stdout, stderr } = await run({
        args,
        cwd: work,
        env: gitEnvironment(remote, ['127.0.0.1']),
        signal: forever,
        places: [{ at: work, mode: 'write' }],
        remote,
      });
      return stdout.toString() + stderr;
    });

  it('reads nothing of the service and of cities when it calls somebody, and signs in with a copy', async () => {
    expect(await together(`cat ${SECRETS()} 2>/dev/null; id -u; id -G; cat ~/.netrc; ls -A ~ | xargs`)).toBe(
      `${LENT}\n${LENT}\nsecret\n.gitconfig .netrc\n`,
    );
    const bySsh = await together('ls -A ~ | xargs', { ...REMOTE, url: 'ssh://git@h/x', transport: 'ssh' });
    expect(bySsh.split('\n')[0]).toBe('.gitconfig');
    expect(
      await together(`kill -0 ${process.pid} 2>/dev/null || echo refused; echo x 2>/dev/null >${base}/home/.netrc || echo closed`),
    ).toBe('refused\nclosed\n');
  });

  it('leaves what it made to the service, and nothing that runs', async () => {
    const left = 'cp /bin/sleep run && chmod 6755 run && mkdir made && echo x >made/file && (setsid ./run 86397 >/dev/null 2>&1 &)';
    await together(left);
    for (const name of ['', 'made', 'made/file', 'run']) {
      const { uid, gid, mode } = await stat(path.join(work, name));
      expect([name, uid, gid, mode & 0o6022]).toEqual([name, 0, 0, 0]);
    }
    expect((await listProcesses()).filter((entry) => entry.user?.() === LENT)).toEqual([]);
  });

  it('has a user for itself, also beside another process', async () => {
    const seen = await Promise.all([together('id -u; sleep 1'), runner().together(REMOTE, [], (run) => run(idle()))]);
    expect(new Set([seen[0].trim(), seen[1].stdout.toString().trim()]).size).toBe(2);
  });
  const idle = (): WalledRun => {
    const args = ['-c', 'alias.say=!id -u; sleep 1', 'say'];
    return { args, cwd: '/', env: gitEnvironment(undefined), signal: forever, places: [], remote: REMOTE };
  };

  it('looks at what a city shares as one of the city', async () => {
    await writeFile(path.join(work, 'file'), 'shared\n', { mode: 0o640 });
    for (const name of ['', 'file']) await chown(path.join(work, name), 0, CITIES + 7);
    await chmod(work, 0o750);
    const look = `cat ${work}/file ${SECRETS()} 2>/dev/null; id -u; id -G; touch ${work}/x 2>/dev/null || echo refused`;
    expect(await said(look, [{ at: work, mode: 'read' }], undefined, runner())).toBe(`shared\n${LENT}\n${CITIES + 7}\nrefused\n`);
  });

  it('does not look at what no session has had yet', async () => {
    await expect(said('true', [{ at: work, mode: 'read' }], undefined, runner())).rejects.toMatchObject({ reason: 'unavailable' });
  });

  it('has a copy of a repository on disk, which may be closed for it', async () => {
    const source = path.join(work, 'source');
    execFileSync('git', ['init', '-q', '-b', 'trunk', source]);
    execFileSync('git', ['-C', source, '-c', 'user.name=x', '-c', 'user.email=x@x', 'commit', '-q', '--allow-empty', '-m', 'x']);
    await symlink(path.join(base, 'admin.key'), path.join(source, '.git/planted'));
    await chmod(source, 0o700);
    const remote: Remote = { url: `file://${source}`, transport: 'file', host: '', port: undefined };
    const listed = await runner().together(remote, [], (run) =>
      run({ ...idle(), args: ['ls-remote', '--', remote.url], env: gitEnvironment(remote), remote }),
    );
    expect(listed.stdout.toString()).toMatch(/^[0-9a-f]{40}\tHEAD\n[0-9a-f]{40}\trefs\/heads\/trunk\n$/);
    expect(await together(`id -u; cat ${source}/.git/HEAD 2>/dev/null; cat ~/copy/HEAD; ls ~/copy/planted 2>/dev/null`, remote)).toBe(
      `${LENT}\nref: refs/heads/trunk\n`,
    );
  });

  it('checks a repository on disk out, as far as it goes', async () => {
    const [source, into, meanwhile] = ['source', 'into', 'fetch'].map((name) => path.join(work, name)) as [string, string, string];
    execFileSync('git', ['init', '-q', source]);
    await writeFile(path.join(source, 'pack.toml'), 'x');
    execFileSync('git', ['-C', source, 'add', '.']);
    execFileSync('git', ['-C', source, '-c', 'user.name=x', '-c', 'user.email=x@x', 'commit', '-q', '-m', 'x']);
    await chmod(source, 0o700);
    await mkdir(meanwhile);
    const remote: Remote = { url: `file://${source}`, transport: 'file', host: '', port: undefined };
    const git = new Git({} as OutgoingGuard, noCredentials, runner());
    const commit = (await git.list(remote, [], forever)).get('HEAD')!;
    await git.checkout(remote, commit, into, meanwhile, { bytes: 1_000_000, files: 10 }, forever);
    expect([await readdir(into), (await stat(path.join(into, 'pack.toml'))).uid]).toEqual([['pack.toml'], 0]);
  });

  it('is given no folder behind a link', async () => {
    await rm(work, { recursive: true });
    await symlink(path.join(base, 'cities/quay'), work);
    await expect(together('true')).rejects.toMatchObject({ reason: 'unavailable' });
  });
});

describe('git without a wall', () => {
  it('runs as the service does', async () => {
    expect(await said(`cat ${base}/admin.key`, [], undefined, new GitRunner(isolationOf(base, 'none')))).toBe('secret\n');
  });
});
