import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { lstat, mkdir, mkdtemp, readdir, readFile, readlink, realpath, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { loadConfig } from '../config/config.js';
import { OutgoingGuard, OutgoingRefused } from '../outgoing/outgoing-guard.js';
import { Git } from './git.js';
import type { GitCredentials } from './git-credentials.js';
import { gitEnvironment, type Remote } from './git-environment.js';
import { GitFailure, type GitReason } from './git-failure.js';
import type { GitRunner } from './git-runner.js';
import { gitServer, type GitServer } from './testing/git-server.js';
import { TestRepository } from './testing/repository.js';
import { gitRunner, noCredentials } from './testing/runner.js';

const LIMITS = { bytes: 8 * 1024 * 1024, files: 100 };
const forever = new AbortController().signal;

let base: string;
let server: GitServer;
let repository: TestRepository;
let first: string;
let second: string;
let git: Git;
let runner: GitRunner;
let into: string;
let work: string;

beforeAll(async () => {
  base = await realpath(await mkdtemp(path.join(tmpdir(), 'git-')));
  repository = await TestRepository.make(path.join(base, 'served/one'));
  first = await repository.commit({ 'pack.toml': 'one', 'bin/run.sh': '#!/bin/sh' }, 'v1.0.0');
  await writeFile(path.join(base, 'marker.sh'), `#!/bin/sh\ntouch ${path.join(base, 'executed')}\n`, { mode: 0o755 });
  second = await repository.commit(
    {
      'pack.toml': 'two',
      '.gitattributes': '*.lfs filter=lfs diff=lfs merge=lfs -text\n* filter=evil\n',
      'big.lfs': 'version https://git-lfs.github.com/spec/v1\n',
      '.gitmodules': '[submodule "x"]\npath = x\nurl = http://127.0.0.1:1/x\n',
      link: '-> pack.toml',
    },
    'v1.1.0',
    'other',
  );
  await repository.git('update-server-info');
  server = await gitServer(path.join(base, 'served'));
  runner = gitRunner(path.join(base, 'data'));
});
beforeEach(async () => {
  git = new Git(new OutgoingGuard(loadConfig({ SVC_ALLOWED_TARGETS: server.target }, '/')), noCredentials, runner);
  const scratch = await mkdtemp(path.join(base, 'scratch-'));
  into = path.join(scratch, 'into');
  work = path.join(scratch, 'work');
  await mkdir(work);
});
afterAll(async () => {
  await server.close();
  await rm(base, { recursive: true, force: true });
});

function remote(where: string): Remote {
  const url = new URL(`${server.url}/${where}`);
  return { url: url.href, transport: 'http', host: url.hostname, port: Number(url.port) };
}

async function reasonOf(run: Promise<unknown>): Promise<GitReason> {
  const error = await run.then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  if (!(error instanceof GitFailure)) throw new Error(`no GitFailure: ${String(error)}`);
  return error.reason;
}

describe('Git', () => {
  it('lists branches and tags, annotated ones as the commits that they mark', async () => {
    const refs = await git.list(remote('smart/one/.git'), ['HEAD', 'refs/tags/v*'], forever);
    expect([...refs]).toEqual([
      ['HEAD', second],
      ['refs/tags/v1.0.0', first],
      ['refs/tags/v1.1.0', second],
    ]);
  });

  it.each(['smart', 'dumb'])('checks out one commit, nothing else, from a %s server', async (kind) => {
    await git.checkout(remote(`${kind}/one/.git`), first, into, work, LIMITS, forever);
    expect((await readdir(into)).sort()).toEqual(['bin', 'pack.toml']);
    expect(await readFile(path.join(into, 'pack.toml'), 'utf8')).toBe('one');
  });

  it('runs no filter, hook or submodule, and keeps links as links', async () => {
    await git.checkout(remote('smart/one/.git'), second, into, work, LIMITS, forever);
    expect(await readFile(path.join(into, 'big.lfs'), 'utf8')).toMatch(/^version/);
    expect(await readlink(path.join(into, 'link'))).toBe('pack.toml');
    expect(existsSync(path.join(base, 'executed'))).toBe(false);
  });

  it('takes a repository on disk', async () => {
    const url = `file://${repository.directory}`;
    await git.checkout({ url, transport: 'file', host: '', port: undefined }, first, into, work, LIMITS, forever);
    expect(await readFile(path.join(into, 'pack.toml'), 'utf8')).toBe('one');
  });

  it('clones with history', async () => {
    await git.clone(remote('smart/one/.git'), { into, city: 'alpha' }, LIMITS, forever);
    expect(await readFile(path.join(into, 'pack.toml'), 'utf8')).toBe('two');
    const log = execFileSync('git', ['log', '--format=%H'], { cwd: into, encoding: 'utf8' });
    expect(log.trim().split('\n')).toEqual([second, first]);
    expect((await lstat(path.join(into, '.git/config'))).isFile()).toBe(true);
    await TestRepository.make(path.join(base, 'served/empty'));
    await git.clone(remote('smart/empty/.git'), { into: `${into}-empty`, city: 'alpha' }, LIMITS, forever);
    expect(await readdir(`${into}-empty`)).toEqual(['.git']);
  });

  it.each<[string, GitReason]>([
    ['none/one', 'not_found'],
    ['smart/none', 'not_found'],
    ['login/one', 'credentials'],
    ['moved/one/.git', 'redirected'],
  ])('tells what %s is: %s', async (where, reason) => {
    expect(await reasonOf(git.list(remote(where), ['HEAD'], forever))).toBe(reason);
    expect(await reasonOf(git.clone(remote(where), { into, city: 'alpha' }, LIMITS, forever))).toBe(reason);
  });

  it('finds nothing in an answer that is none', async () => {
    expect((await git.list(remote('broken/one'), ['HEAD'], forever)).size).toBe(0);
  });

  it('does not know a commit that the repository does not have', async () => {
    expect(await reasonOf(git.checkout(remote('smart/one/.git'), 'f'.repeat(40), into, work, LIMITS, forever))).toBe('not_found');
    expect(existsSync(into)).toBe(false);
  });

  it('says why a checkout failed also where what was begun cannot be removed', async () => {
    // Nothing is removed behind a link.
    const link = path.join(path.dirname(into), 'link');
    await symlink(await mkdtemp(path.join(base, 'scratch-')), link);
    const checkout = git.checkout(remote('smart/one/.git'), 'f'.repeat(40), path.join(link, 'into'), work, LIMITS, forever);
    expect(await reasonOf(checkout)).toBe('not_found');
  });

  it.each(['hang/one', 'drip/one'])('ends with its time, and leaves no process: %s', async (where) => {
    expect(await reasonOf(git.list(remote(where), ['HEAD'], AbortSignal.timeout(100)))).toBe('timeout');
    expect(await reasonOf(git.clone(remote(where), { into, city: 'alpha' }, LIMITS, AbortSignal.timeout(100)))).toBe('timeout');
    const given = new AbortController();
    const run = reasonOf(git.list(remote(where), ['HEAD'], given.signal));
    given.abort();
    expect(await run).toBe('aborted');
    const port = server.target.split(':')[1]!;
    expect(
      execFileSync('ps', ['-eo', 'args'], { encoding: 'utf8' })
        .split('\n')
        .filter((line) => line.includes(`:${port}/${where}`)),
    ).toEqual([]);
  });

  it('takes only so much', async () => {
    const large = await TestRepository.make(path.join(base, 'served/large'));
    const noise = Buffer.from(Array.from({ length: 64 * 1024 }, (_, n) => (n * 7919) % 251));
    const commit = await large.commit(
      Object.fromEntries(Array.from({ length: 20 }, (_, n) => [`f${n}`, Buffer.concat([Buffer.from(String(n)), noise])])),
    );
    const from = remote('smart/large/.git');
    expect(await reasonOf(git.checkout(from, commit, into, work, { bytes: 1024 * 1024, files: 100 }, forever))).toBe('too_large');
    expect(existsSync(into)).toBe(false);
    await mkdir(`${work}-2`);
    expect(await reasonOf(git.checkout(from, commit, into, `${work}-2`, { bytes: 8 * 1024 * 1024, files: 19 }, forever))).toBe('too_large');
    expect(existsSync(into)).toBe(false);
    expect(await reasonOf(git.list(remote('flood/one'), ['HEAD'], forever))).toBe('too_large');
  });

  // Guard: a repository of 230,000 tags keeps everybody who asks this process waiting for four seconds.
  it('does not look through more tags than a repository of packs has, and through any branches', async () => {
    const many = await TestRepository.make(path.join(base, 'served/many'));
    const commit = await many.commit({ 'pack.toml': 'one' });
    const tags = Array.from({ length: 20_000 }, (_, n) => `refs/tags/v1.${n}`);
    const packed = (names: readonly string[]): Promise<void> =>
      writeFile(path.join(many.directory, '.git/packed-refs'), names.map((name) => `${commit} ${name}\n`).join(''));
    await packed([...Array.from({ length: 5_000 }, (_, n) => `refs/heads/b${n}`), ...tags]);
    expect((await git.list(remote('smart/many/.git'), ['HEAD', 'refs/heads/b*', 'refs/tags/v*'], forever)).size).toBe(25_001);
    await packed([...tags, 'refs/tags/v2.0']);
    expect(await reasonOf(git.list(remote('smart/many/.git'), ['refs/tags/v*'], forever))).toBe('too_large');
  });

  it('calls nobody whom it may not', async () => {
    const before = server.requests.length;
    const strict = new Git(new OutgoingGuard(loadConfig({}, '/')), noCredentials, runner);
    await expect(strict.list(remote('smart/one/.git'), ['HEAD'], forever)).rejects.toThrow(OutgoingRefused);
    await expect(strict.clone(remote('smart/one/.git'), { into, city: 'alpha' }, LIMITS, forever)).rejects.toThrow(OutgoingRefused);
    expect(server.requests).toHaveLength(before);
  });

  it('goes where the guard looked, whatever the name means by then', async () => {
    const config = loadConfig({ SVC_ALLOWED_TARGETS: `pinned.example:${server.target.split(':')[1]}` }, '/');
    const pinned = new Git(
      OutgoingGuard.with(config, () => Promise.resolve(['127.0.0.1'])),
      noCredentials,
      runner,
    );
    const { url, port } = remote('smart/one/.git');
    const refs = await pinned.list(
      { url: url.replace('127.0.0.1', 'pinned.example'), transport: 'http', host: 'pinned.example', port },
      ['HEAD'],
      forever,
    );
    expect(refs.get('HEAD')).toBe(second);
  });

  it('looks names up for the city that it is for, and takes no credentials of it', async () => {
    const asked: string[] = [];
    const never = (host: string): Promise<never> => new Promise(() => void asked.push(host));
    const silent = new Git(OutgoingGuard.with(loadConfig({}, '/'), never), noCredentials, runner);
    const list = (of: Git, host: string): void =>
      void of.list({ url: `https://${host}`, transport: 'https', host, port: undefined }, ['HEAD'], forever).catch(() => undefined);
    for (const host of ['a0', 'a1', 'a2', 'a3', 'a4']) list(silent.forCity('a'), host);
    list(silent.forCity('b'), 'b0');
    expect(asked).toEqual(['a0', 'a1', 'a2', 'a3', 'b0']);

    const cities: unknown[] = [];
    const of = (_: Remote, city: string | undefined): Promise<never> => {
      cities.push(city);
      return Promise.reject(new Error('enough'));
    };
    const guard = new OutgoingGuard(loadConfig({ SVC_ALLOWED_TARGETS: server.target }, '/'));
    const some = new Git(guard, { of } as unknown as GitCredentials, runner).forCity('a');
    await expect(some.list(remote('smart/one/.git'), ['HEAD'], forever)).rejects.toThrow('enough');
    expect(cities).toEqual([undefined]);
  });

  it('gives git nothing of its own environment', () => {
    const env = gitEnvironment({ url: 'ssh://git@h:2222/x', transport: 'ssh', host: 'h', port: 2222 }, ['10.0.0.1']);
    expect(Object.keys(env).filter((key) => !/^(PATH|HOME|LC_ALL|GIT_|SSH_ASKPASS_REQUIRE)/.test(key))).toEqual([]);
    expect(env.GIT_SSH_COMMAND).toContain("-o 'HostName=10.0.0.1' -o 'HostKeyAlias=[h]:2222'");
    expect(env.GIT_SSH_COMMAND).toMatch(/^ssh -F none .*StrictHostKeyChecking=yes/);
    for (const host of ["a'b", '-oProxyCommand=x', '$(x)'])
      expect(() => gitEnvironment({ url: 'ssh://x', transport: 'ssh', host, port: undefined }, ['10.0.0.1'])).toThrow(GitFailure);
  });
});
