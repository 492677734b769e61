import { execFileSync, spawnSync } from 'node:child_process';
import {
  appendFile,
  chmod,
  cp,
  mkdir,
  mkdtemp,
  readFile,
  readdir,
  realpath,
  rename,
  rm,
  stat,
  symlink,
  utimes,
  writeFile,
} from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { startGitServer, type GitServer } from '../../../../test/support/git-server.js';
import { eventually } from '../../../../test/support/sse.js';
import { USER_NUMBERS, USERS_OF_HOST } from '../../../../test/support/user-numbers.js';
import { AppConfig, loadConfig, type Config } from '../../../platform/config/config.js';
import type { GitExit } from '../../../platform/git/git-process.js';
import { GitRunner, type WalledRun } from '../../../platform/git/git-runner.js';
import { sweepOwnSettings } from '../../../platform/git/own-settings.js';
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

const exists = (at: string): Promise<boolean> =>
  stat(at).then(
    () => true,
    () => false,
  );

/** Sets all that git might start for a look. */
async function setPrograms(at: string, ran: string): Promise<void> {
  const hooks = path.join(at, '.git/hooks');
  const program = `touch ${ran}`;
  for (const name of ['post-index-change', 'fsmonitor-watchman', 'reference-transaction']) {
    await writeFile(path.join(hooks, name), `#!/bin/sh\n${program}\n`);
    await chmod(path.join(hooks, name), 0o755);
  }
  const keys = ['core.fsmonitor', 'core.sshCommand', 'core.pager', 'core.gitProxy', 'core.editor', 'core.alternateRefsCommand'];
  keys.push('diff.external', 'gpg.program', 'pager.status', 'interactive.diffFilter', 'diff.x.command', 'diff.x.textconv', 'alias.status');
  for (const key of keys) execFileSync('git', ['config', key, program], { cwd: at });
  for (const [key, value] of Object.entries({ 'core.hooksPath': hooks, 'core.untrackedCache': 'true', 'status.submoduleSummary': 'true' }))
    execFileSync('git', ['config', key, value], { cwd: at });
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

  // Guard: of a rig's settings only those count that name no program.
  it.each([
    ['a=b.c', '* filter=a=b.c'],
    ['', '* filter='],
  ])('runs nothing that a repository names, whatever the name of its filter: "%s"', async (name, attributes) => {
    const into = await mkdtemp(path.join(base, 'evil-'));
    const ran = path.join(into, 'ran');
    const git = (...args: string[]): void => void execFileSync('git', args, { cwd: into });
    git('init', '-q');
    await writeFile(path.join(into, '.git/info/exclude'), 'ran\n');
    await writeFile(path.join(into, '.gitattributes'), `${attributes}\n`);
    await writeFile(path.join(into, 'x'), '1');
    git('add', 'x');
    await writeFile(path.join(into, 'x'), '2');
    for (const key of ['clean', 'process']) git('config', `filter.${name}.${key}`, `touch ${ran}`);
    git('config', `filter.${name}.required`, 'true');
    await setPrograms(into, ran);
    for (const wanted of ['auto', 'none']) {
      expect(await gitFor('', new GitRunner(isolationOf(base, wanted))).status(into, forever)).toMatchObject({ clean: false });
      expect(await exists(ran)).toBe(false);
    }
    // The settings do run them otherwise, or this would prove nothing. A filter that is required fails.
    for (const off of [{ 'core.fsmonitor': 'false', 'core.hooksPath': '/dev/null' }, { [`filter.${name}.required`]: 'false' }]) {
      spawnSync('git', [...Object.entries(off).flatMap(([key, value]) => ['-c', `${key}=${value}`]), 'status'], { cwd: into });
      expect(await exists(ran)).toBe(true);
      await rm(ran);
    }
  });

  it('runs nothing that is set in a module, or for one of several trees', async () => {
    const into = await mkdtemp(path.join(base, 'evil-'));
    const ran = path.join(into, 'ran');
    const git = (cwd: string, ...args: string[]): void =>
      void execFileSync('git', ['-c', 'user.name=t', '-c', 'user.email=t@example.org', '-c', 'protocol.file.allow=always', ...args], {
        cwd,
      });
    git(into, 'init', '-q');
    git(into, 'submodule', '--quiet', 'add', path.join(base, 'one'), 'module');
    git(into, 'commit', '-q', '-m', 'one');
    git(into, 'config', 'extensions.worktreeConfig', 'true');
    await writeFile(path.join(into, '.git/info/exclude'), 'ran\n.gitattributes\n');
    const module = path.join(into, 'module');
    for (const [at, settings, file, clean] of [
      [module, '.git/modules/module/config', 'a', true],
      [into, '.git/config.worktree', '.gitmodules', false],
    ] as const) {
      await writeFile(path.join(at, '.gitattributes'), '* filter=\n');
      git(into, 'config', '--file', path.join(into, settings), 'filter..clean', `touch ${ran}; cat`);
      // As long as before: otherwise git need not read it.
      await writeFile(path.join(at, file), (await readFile(path.join(at, file), 'utf8')).replace(/.$/s, ' '));
      for (const wanted of ['auto', 'none']) {
        expect(await gitFor('', new GitRunner(isolationOf(base, wanted))).status(into, forever)).toMatchObject({ clean });
        expect([file, await exists(ran)]).toEqual([file, false]);
      }
      git(into, 'status');
      expect([file, await exists(ran)]).toEqual([file, true]);
      await rm(ran);
    }
  });

  // Guard: git looks at a rig with settings of the service's, which nobody changes meanwhile.
  it('runs nothing that an agent sets while git is being asked', async () => {
    const into = await mkdtemp(path.join(base, 'evil-'));
    const ran = path.join(into, 'ran');
    execFileSync('git', ['init', '-q'], { cwd: into });
    await writeFile(path.join(into, '.gitattributes'), '* filter=late\n');
    await writeFile(path.join(into, 'x'), '1');
    execFileSync('git', ['add', 'x'], { cwd: into });
    await writeFile(path.join(into, 'x'), '2');
    const harmless = await readFile(path.join(into, '.git/config'), 'utf8');
    for (const when of [1, 2]) {
      let runs = 0;
      let settings = '';
      class Meanwhile extends GitRunner {
        override async run(run: WalledRun): Promise<GitExit> {
          const evil = `${harmless}[filter "late"]\n\tclean = touch ${ran}; cat\n`;
          if (++runs === when) await writeFile(path.join(into, '.git/config'), evil);
          settings = run.settings!;
          return super.run(run);
        }
      }
      const rig = gitFor('', new Meanwhile(isolationOf(base, 'none')));
      expect(await rig.status(into, forever)).toMatchObject({ clean: false });
      expect([await exists(ran), await exists(settings)]).toEqual([false, false]);
      await writeFile(path.join(into, '.git/config'), harmless);
    }
  });

  it('removes at its start what killed processes have left of looks', async () => {
    const left = await mkdtemp(path.join(base, 'svc-git-settings-'));
    await utimes(left, 0, 0);
    rigs.sweep = () => sweepOwnSettings(base);
    rigs.onApplicationBootstrap();
    expect(await eventually(async () => !(await exists(left)), 10_000)).toBe(true);
  });

  it('keeps what settings say of files and branches', async () => {
    const into = await mkdtemp(path.join(base, 'set-'));
    const git = (...args: string[]): void =>
      void execFileSync('git', ['-c', 'user.name=t', '-c', 'user.email=t@example.org', ...args], { cwd: into, stdio: 'ignore' });
    git('init', '-q', '-b', 'a"b', '--object-format=sha256');
    await writeFile(path.join(into, 'x'), 'x');
    git('add', 'x');
    git('commit', '-q', '-m', 'one');
    git('branch', 'other\u2026"x');
    git('commit', '-q', '--allow-empty', '-m', 'two');
    git('branch', '--set-upstream-to', 'other\u2026"x');
    git('config', 'core.fileMode', 'false');
    await chmod(path.join(into, 'x'), 0o755);
    expect(await rigs.status(into, forever)).toEqual({ branch: 'a"b', clean: true, changed_files: 0, ahead: 1, behind: 0 });
    const tree = path.join(into, 'tree');
    git('worktree', 'add', '-q', tree, 'other\u2026"x');
    await writeFile(path.join(into, '.git/info/exclude'), 'tree\n');
    git('config', 'extensions.worktreeConfig', 'true');
    git('config', '--unset', 'core.fileMode');
    git('config', '--worktree', 'core.fileMode', 'false');
    expect(await rigs.status(into, forever)).toMatchObject({ clean: true, ahead: 1 });
    git('config', '--worktree', '--unset', 'core.fileMode');
    expect(await rigs.status(into, forever)).toMatchObject({ changed_files: 1 });
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
