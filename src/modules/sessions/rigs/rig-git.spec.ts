import { execFileSync } from 'node:child_process';
import { appendFile, chmod, cp, mkdir, mkdtemp, readdir, realpath, rename, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { startGitServer, type GitServer } from '../../../../test/support/git-server.js';
import { USER_NUMBERS, USERS_OF_HOST } from '../../../../test/support/user-numbers.js';
import { AppConfig, loadConfig, type Config } from '../../../platform/config/config.js';
import { GitRunner } from '../../../platform/git/git-runner.js';
import { gitRunner, noCredentials } from '../../../platform/git/testing/runner.js';
import { Git } from '../../../platform/git/git.js';
import { isolationOf } from '../../../platform/isolation/testing/isolation.js';
import { OutgoingGuard } from '../../../platform/outgoing/outgoing-guard.js';
import { failureOf } from './rig-failure.js';
import { RigGit, type Clone } from './rig-git.js';

let server: GitServer;
let base: string;
let rigs: RigGit;
const forever = new AbortController().signal;

beforeAll(async () => {
  server = await startGitServer();
  base = await realpath(await mkdtemp(path.join(tmpdir(), 'svc-rig-git-')));
  await server.repository('one', { a: 'a' }, 'trunk');
  rigs = gitFor(`127.0.0.1:${server.port}`);
});
afterAll(async () => {
  await server.close();
  await rm(base, { recursive: true, force: true });
});

const one = (): Omit<Clone, 'into'> => ({ url: server.url('one'), city: 'alpha', branch: undefined, signal: forever });

function gitFor(allowed: string, runner = gitRunner(base)): RigGit {
  const config = new AppConfig(loadConfig({ SVC_ALLOWED_TARGETS: allowed, SVC_DATA_DIR: base }, '/') as Config);
  return new RigGit(new Git(new OutgoingGuard(config), noCredentials, runner), runner, config);
}

const codeOf = async (work: Promise<unknown>): Promise<string | undefined> => {
  const error = await work.then(
    () => new Error('it went well'),
    (thrown: unknown) => thrown,
  );
  return failureOf(error)?.code;
};

describe('git for rigs', () => {
  it('clones, and knows the default branch', async () => {
    const into = path.join(base, 'one');
    await rigs.clone({ ...one(), into });
    expect(await rigs.branchOf(into)).toBe('trunk');
    expect(await rigs.status(into, forever)).toEqual({ branch: 'trunk', clean: true, changed_files: 0, ahead: 0, behind: 0 });
  });

  it('tells commits that others do not have, renames, and a head without a branch', async () => {
    const into = path.join(base, 'one');
    const git = (...args: string[]): void =>
      void execFileSync('git', ['-c', 'user.name=t', '-c', 'user.email=t@example.org', ...args], { cwd: into });
    await writeFile(path.join(into, 'b'), 'b');
    git('add', 'b');
    git('commit', '-q', '-m', 'two');
    git('mv', 'a', 'c');
    expect(await rigs.status(into, forever)).toEqual({ branch: 'trunk', clean: false, changed_files: 1, ahead: 1, behind: 0 });
    git('checkout', '-q', '--detach');
    expect(await rigs.status(into, forever)).toMatchObject({ branch: 'HEAD' });
  });

  it('runs nothing that a repository names, whatever the name of its filter', async () => {
    const into = path.join(base, 'evil');
    await mkdir(into);
    const git = (...args: string[]): void => void execFileSync('git', args, { cwd: into });
    git('init', '-q');
    await writeFile(path.join(into, '.gitattributes'), '* filter=a=b.c\n');
    await writeFile(path.join(into, 'x'), '1');
    git('add', 'x');
    await writeFile(path.join(into, 'x'), '2');
    for (const key of ['clean', 'process']) git('config', `filter.a=b.c.${key}`, `touch ${path.join(base, 'ran')}`);
    git('config', 'filter.a=b.c.required', 'true');
    git('config', 'core.fsmonitor', `touch ${path.join(base, 'ran')}`);
    // The settings do run it otherwise, or this would prove nothing.
    expect(await rigs.status(into, forever)).toMatchObject({ clean: false });
    expect(() => execFileSync('ls', [path.join(base, 'ran')], { stdio: 'ignore' })).toThrow();
    try {
      execFileSync('git', ['status'], { cwd: into, stdio: 'ignore' });
    } catch {
      // The filter that is required has failed.
    }
    execFileSync('ls', [path.join(base, 'ran')], { stdio: 'ignore' });
  });

  // Guard: git in a rig reads the rig's own repository only.
  it('looks at no repository that lies elsewhere, wholly or in part', async () => {
    const other = path.join(base, 'other');
    await mkdir(other);
    const git = (cwd: string, ...args: string[]): void =>
      void execFileSync('git', ['-c', 'user.name=t', '-c', 'user.email=t@example.org', ...args], { cwd, stdio: 'ignore' });
    git(other, 'init', '-q', '-b', 'secret');
    await writeFile(path.join(other, 'x'), 'x');
    git(other, 'add', 'x');
    git(other, 'commit', '-q', '-m', 'one');
    const theirs = path.join(other, '.git');
    const ways: Record<string, (at: string) => Promise<unknown>> = {
      'a file that points there': (at) => writeFile(path.join(at, '.git'), `gitdir: ${theirs}\n`),
      'a link': (at) => symlink(theirs, path.join(at, '.git')),
      'a worktree of it': (at) => rm(at, { recursive: true }).then(() => git(other, 'worktree', 'add', '-q', '--detach', at)),
      'its common directory': async (at) => {
        git(at, 'init', '-q');
        await writeFile(path.join(at, '.git/commondir'), `${theirs}\n`);
      },
      'its objects': async (at) => {
        git(at, 'init', '-q');
        await mkdir(path.join(at, '.git/objects/info'), { recursive: true });
        await writeFile(path.join(at, '.git/objects/info/alternates'), `${theirs}/objects\n`);
      },
      'its head': async (at) => {
        git(at, 'init', '-q');
        await rm(path.join(at, '.git/HEAD'));
        await symlink(path.join(theirs, 'HEAD'), path.join(at, '.git/HEAD'));
      },
      'its branches': async (at) => {
        git(at, 'init', '-q');
        await symlink(path.join(theirs, 'refs/heads/secret'), path.join(at, '.git/refs/heads/secret'));
      },
      'its settings': async (at) => {
        git(at, 'init', '-q');
        await appendFile(path.join(at, '.git/config'), `[core][Include]path = ${theirs}/config\n`);
      },
    };
    for (const [n, [way, make]] of Object.entries(ways).entries()) {
      const at = path.join(base, `way-${n}`);
      await mkdir(at);
      await make(at);
      expect({ way, said: [await rigs.branchOf(at), await rigs.status(at, forever)] }).toEqual({ way, said: [undefined, undefined] });
    }
    // A store of its own beside its worktrees is the rig's, and so is where settings say that files are.
    const bare = path.join(base, 'bare');
    await cp(other, bare, { recursive: true });
    await rename(path.join(bare, '.git'), path.join(bare, '.bare'));
    await writeFile(path.join(bare, '.git'), 'gitdir: ./.bare\n');
    git(bare, 'config', 'core.worktree', base);
    expect([await rigs.branchOf(bare), await rigs.status(bare, forever)]).toEqual(['secret', expect.objectContaining({ clean: false })]);
  });

  (process.getuid?.() === 0 ? it : it.skip)(
    'clones and looks as users of nobody where those are the walls (skipped: not root)',
    async () => {
      await writeFile(path.join(base, 'host.toml'), USERS_OF_HOST);
      const isolation = isolationOf(base, 'users');
      try {
        const walled = gitFor(`127.0.0.1:${server.port}`, new GitRunner(isolation));
        const city = path.join(base, 'cities/port');
        const into = path.join(city, '.gc/cache/rigs/op');
        await mkdir(path.dirname(into), { recursive: true });
        await chmod(city, 0o750);
        await walled.clone({ ...one(), branch: 'trunk', into });
        for (const name of [city, into, path.join(into, 'a'), path.join(into, '.git/config')]) {
          const { uid, gid, mode } = await stat(name);
          expect([name, uid, gid, mode & 0o7]).toEqual([name, 0, 0, 0]);
        }
        // Nobody has had it yet: what it is called is read, and nothing else is looked at.
        expect(await walled.branchOf(into)).toBe('trunk');
        await expect(walled.status(into, forever)).rejects.toMatchObject({ reason: 'unavailable' });
        // As when a session was started: the city's group has it all. What lies there may be anything from then on.
        execFileSync('git', ['config', 'filter.x.clean', `id -u >${into}/ran`], { cwd: into });
        await writeFile(path.join(into, '.git/info/attributes'), '* filter=x\n').catch(() => undefined);
        await writeFile(path.join(into, 'a'), 'changed');
        execFileSync('chgrp', ['-R', String(USER_NUMBERS.cities.first + 3), city]);
        expect(await walled.status(into, forever)).toMatchObject({ branch: 'trunk', changed_files: 1 });
        expect(await walled.branchOf(into)).toBe('trunk');
        expect(await readdir(into)).not.toContain('ran');
        expect(await readdir(path.join(base, 'cities/.packs'))).toEqual([]);
      } finally {
        isolation.onApplicationShutdown();
      }
    },
  );

  it('says nothing of a directory that is no repository, also inside of one', async () => {
    const inner = path.join(base, 'one/inner');
    await mkdir(inner);
    expect([await rigs.branchOf(inner), await rigs.status(inner, forever)]).toEqual([undefined, undefined]);
  });

  it('gives a server up that hangs', async () => {
    const hanging = rigs.clone({ ...one(), url: server.url('hang'), into: path.join(base, 'hang') }, 500);
    expect(await codeOf(hanging)).toBe('clone_failed');
  });

  it('calls nobody whom it may not', async () => {
    const strict = gitFor('127.0.0.1:1');
    const asked = server.asked.length;
    for (const url of [server.url('one'), 'https://127.0.0.1:1234/x', 'https://[::1]/x', 'http://93.184.215.14/x', 'ssh://git@127.0.0.1/x'])
      expect(await codeOf(strict.clone({ ...one(), url, into: path.join(base, 'never') }))).toBe('blocked_host');
    expect(server.asked).toHaveLength(asked);
  });
});
