import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { appendFile, mkdir, mkdtemp, readdir, readFile, realpath, rm, symlink, unlink, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { loadConfig } from '../../../../platform/config/config.js';
import { gitRunner, noCredentials } from '../../../../platform/git/testing/runner.js';
import { Git } from '../../../../platform/git/git.js';
import { gitServer, type GitServer } from '../../../../platform/git/testing/git-server.js';
import { TestRepository } from '../../../../platform/git/testing/repository.js';
import { OutgoingGuard } from '../../../../platform/outgoing/outgoing-guard.js';
import { compose } from '../compose/compose.js';
import { describeIssue, errorsOf } from '../issue.js';
import { DiskTree } from '../trees/disk-tree.js';
import { CHECKOUT_LIMITS, CheckoutStore } from './checkout-store.js';
import { DiskPackStore } from './disk-pack-store.js';
import { PackInstaller, type Installed } from './installer.js';
import type { Lock } from './lock.js';
import { PackFailure } from './pack-failure.js';
import type { FoundPack } from './pack-store.js';
import { parseSource, type RepositorySource } from './sources.js';

let base: string;
let served: string;
let server: GitServer;
let citiesRoot: string;
let cityDir: string;
let installer: PackInstaller;
let git: Git;

beforeAll(async () => {
  base = await realpath(await mkdtemp(path.join(tmpdir(), 'install-')));
  served = path.join(base, 'served');
  server = await gitServer(served);
  git = new Git(
    new OutgoingGuard(loadConfig({ SVC_ALLOWED_TARGETS: server.target }, '/')),
    noCredentials,
    gitRunner(path.join(base, 'data')),
  );
});
beforeEach(async () => {
  citiesRoot = await mkdtemp(path.join(base, 'cities-'));
  cityDir = path.join(citiesRoot, 'north');
  await mkdir(cityDir);
  installer = new PackInstaller(citiesRoot, git);
});
// Whatever a test does: nothing unfinished stays, and nothing appears beside the cities.
afterEach(async () => {
  const store = await readdir(path.join(citiesRoot, '.packs')).catch(() => []);
  expect(store.filter((name) => !/^[0-9a-f]{64}$/.test(name))).toEqual([]);
  expect((await readdir(base)).filter((name) => !/^(served|data|cities-)/.test(name))).toEqual([]);
});
afterAll(async () => {
  await server.close();
  await rm(base, { recursive: true, force: true });
});

const url = (name: string): string => `${server.url}/smart/${name}`;
const pack = (name: string, imports: Readonly<Record<string, string>> = {}): string =>
  `[pack]\nname = "${name}"\nschema = 2\n${importsToml(imports)}`;

/** `binding = source` or `source @version`. */
function importsToml(imports: Readonly<Record<string, string>>): string {
  return Object.entries(imports)
    .map(([binding, wanted]) => {
      const [source, version] = wanted.split(' @');
      return `[imports.${binding}]\nsource = "${source}"\n${version === undefined ? '' : `version = "${version}"\n`}`;
    })
    .join('');
}

async function repository(name: string): Promise<TestRepository> {
  await rm(path.join(served, name), { recursive: true, force: true });
  return TestRepository.make(path.join(served, name));
}

async function city(imports: Readonly<Record<string, string>>): Promise<void> {
  await writeFile(path.join(cityDir, 'city.toml'), `[workspace]\nstart_command = "x"\n`);
  await writeFile(path.join(cityDir, 'pack.toml'), pack('north', imports));
}

async function resolve(lock: Lock = new Map(), signal?: AbortSignal): Promise<Installed> {
  return installer.resolve({ city: new DiskTree(cityDir), cityDir, lock, ...(signal === undefined ? {} : { signal }) });
}

async function failure(work: Promise<unknown>): Promise<PackFailure> {
  const error = await work.then(
    (found) => found,
    (thrown: unknown) => thrown,
  );
  if (!(error instanceof PackFailure)) throw new Error(`no PackFailure: ${String(error)}`);
  return error;
}

async function find(lock: Lock, source: string, version?: string): Promise<FoundPack | { readonly missing: string }> {
  const tree = new DiskTree(cityDir);
  return new DiskPackStore({ city: tree, cityDir, citiesRoot, ledger: tree.ledger, lock }).find({
    source,
    version,
    from: tree,
    folder: '',
  });
}

/** What composing says against the city, with what is pinned. */
async function errorsWith(lock: Lock): Promise<string[]> {
  const tree = new DiskTree(cityDir);
  const packs = new DiskPackStore({ city: tree, cityDir, citiesRoot, ledger: tree.ledger, lock });
  const { issues } = await compose({ tree, packs, cityName: 'north' });
  return errorsOf(issues).map(describeIssue);
}

function sourceOf(source: string): RepositorySource {
  return parseSource(source) as RepositorySource;
}

describe('PackInstaller', () => {
  it('pins the newest version that is allowed and fetches it', async () => {
    const base1 = await repository('base');
    await base1.commit({ 'core/pack.toml': pack('core'), 'core/agents/a/agent.toml': '' }, 'v1.2.0');
    const newest = await base1.commit({ 'core/pack.toml': `${pack('core')}# newer\n` }, 'v1.3.0', 'v2.0.0-rc.1');
    await base1.commit({}, 'v2.0.0');
    const source = `${url('base')}//core`;
    await city({ core: `${source} @^1.2` });
    const { lock, issues } = await resolve();
    expect(issues).toEqual([]);
    expect([...lock]).toEqual([
      [sourceOf(source).id, { version: '1.3.0', commit: newest, fetched: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/) }],
    ]);
    const found = (await find(lock, source, '^1.2')) as FoundPack;
    expect(found).toMatchObject({ folder: '', version: '1.3.0', commit: newest });
    expect(found.id).toBe(`${server.url}/smart/base@${newest.slice(0, 12)}//core`);
    expect(await found.tree.read('pack.toml')).toMatch(/# newer/);
    expect(await found.tree.list('agents')).toEqual([{ name: 'a', kind: 'directory' }]);
    expect(await installer.defaultVersion(sourceOf(source))).toBe('^2.0');
    // What is pinned stays, and nothing is asked again.
    const before = server.requests.length;
    expect((await resolve(lock)).lock).toEqual(lock);
    expect(server.requests).toHaveLength(before);
    await city({ core: `${source} @^2` });
    expect([...(await resolve(lock)).lock.values()]).toMatchObject([{ version: '2.0.0' }]);
    expect(await find(lock, source, '^2')).toEqual({
      missing: 'what packs.lock pins is not what the version allows: install the packs of this city',
    });
  });

  it('pins branches, tags and commits, and without any the newest version or the head', async () => {
    const plain = await repository('plain');
    const first = await plain.commit({ 'pack.toml': pack('plain') });
    const head = await plain.commit({ 'pack.toml': `${pack('plain')}#` });
    for (const [wanted, commit] of [
      [url('plain'), head],
      [`${url('plain')}#main`, head],
      [`${url('plain')} @sha:${first}`, first],
      [`${url('plain')} @sha:${head.slice(0, 8)}`, head],
      [`${url('plain')}#${first}`, first],
    ] as const) {
      await city({ plain: wanted });
      expect([...(await resolve()).lock.values()]).toEqual([{ commit, fetched: expect.any(String) }]);
    }
    expect(await installer.defaultVersion(sourceOf(url('plain')))).toBe(`sha:${head}`);
    for (const wanted of [`${url('plain')} @^1`, `${url('plain')} @sha:1234567`, `${url('plain')}#main @^1`, `${url('plain')} @latest`]) {
      await city({ plain: wanted });
      expect((await failure(resolve())).code).toBe('invalid_constraint');
    }
    await city({ plain: `${url('plain')}#none` });
    expect((await failure(resolve())).code).toBe('lookup_failed');
  });

  it('follows imports of packs and merges what they demand', async () => {
    const tool = await repository('tool');
    await tool.commit({ 'pack.toml': pack('tool') }, 'v1.1.0');
    const wanted = await tool.commit({}, 'v1.2.0');
    await tool.commit({}, 'v1.9.0');
    const user = await repository('user');
    await user.commit(
      { 'pack.toml': pack('user', { tool: `${url('tool')} @<1.9`, near: 'near' }), 'near/pack.toml': pack('near', { again: '..' }) },
      'v1.0.0',
    );
    await mkdir(path.join(cityDir, 'packs/local'), { recursive: true });
    await writeFile(path.join(cityDir, 'packs/local/pack.toml'), pack('local', { user: `${url('user')} @1.0` }));
    await city({ a: `${url('tool')} @^1.1`, b: 'packs/local', core: 'builtin:core', gone: 'packs/gone' });
    const { lock } = await resolve();
    expect([...lock].map(([id, { version }]) => [id, version])).toEqual([
      [sourceOf(url('tool')).id, '1.2.0'],
      [sourceOf(url('user')).id, '1.0.0'],
    ]);
    expect(lock.get(sourceOf(url('tool')).id)?.commit).toBe(wanted);
    await city({ a: `${url('tool')} @^1.9`, b: 'packs/local' });
    const { code, message } = await failure(resolve());
    expect([code, message]).toEqual(['invalid_constraint', expect.stringContaining('no version that is allowed')]);
    await city({ b: 'packs/local', c: `${url('tool')} @sha:${wanted}`, d: `${url('tool')} @sha:${'0'.repeat(40)}` });
    expect((await failure(resolve())).message).toContain('two imports pin two commits');
  });

  // Guard: what was demanded by a version that gave way counts no more.
  it('forgets what a pack demanded that is taken in another version', async () => {
    const below = await repository('demanded');
    await below.commit({ 'pack.toml': pack('demanded') }, 'v1.0.0');
    await below.commit({}, 'v2.0.0');
    const taken = await repository('taken');
    await taken.commit({ 'pack.toml': pack('taken', { y: `${url('demanded')} @^1.0` }) }, 'v1.0.0');
    await taken.commit({ 'pack.toml': pack('taken', { y: `${url('demanded')} @^2.0` }) }, 'v2.0.0');
    const last = await repository('last');
    await last.commit({ 'pack.toml': pack('last', { x: `${url('taken')} @~1.0` }) }, 'v1.0.0');
    await city({ x: url('taken'), z: url('last') });
    const { lock } = await resolve();
    const versions = ['taken', 'last', 'demanded'].map((name) => lock.get(sourceOf(url(name)).id)?.version);
    expect(versions).toEqual(['1.0.0', '1.0.0', '1.0.0']);
  });

  // Guard: agents work in a rig all the time.
  it('has nothing composed anew for a file that comes to the folder of a rig', async () => {
    await city({});
    await mkdir(path.join(cityDir, 'web'));
    await mkdir(path.join(cityDir, '.gc'));
    await appendFile(path.join(cityDir, 'city.toml'), '[[rigs]]\nname = "web"\n');
    await writeFile(path.join(cityDir, '.gc/site.toml'), '[[rig]]\nname = "web"\npath = "web"\n');
    const tree = new DiskTree(cityDir);
    const packs = new DiskPackStore({ city: tree, cityDir, citiesRoot, ledger: tree.ledger, lock: new Map() });
    const warned = async (): Promise<string[]> =>
      (await compose({ tree, packs, cityName: 'north' })).issues.map(describeIssue).filter((issue) => issue.includes('is not used'));
    expect(await warned()).toEqual([]);
    await writeFile(path.join(cityDir, 'web/work.txt'), '');
    expect(await tree.ledger.changed()).toBe(false);
    await writeFile(path.join(cityDir, 'web/pack.toml'), pack('web'));
    expect(await tree.ledger.changed()).toBe(true);
    expect(await warned()).toHaveLength(1);
  });

  // Guard: what composing follows is pinned.
  it('follows what lies below an import that is not transitive: files of it are there for the city', async () => {
    const tool = await repository('below');
    await tool.commit({ 'pack.toml': pack('below') }, 'v1.0.0');
    const user = await repository('lone');
    await user.commit({ 'pack.toml': pack('lone', { below: url('below') }) }, 'v1.0.0');
    await city({});
    await appendFile(path.join(cityDir, 'pack.toml'), `[imports.q]\nsource = "${url('lone')}"\ntransitive = false\n`);
    const { lock } = await resolve();
    expect([...lock.keys()]).toEqual(['lone', 'below'].map((name) => sourceOf(url(name)).id));
    expect(await errorsWith(lock)).toEqual([]);
  });

  // Guard: what is imported in the old way is pinned.
  it('follows what is included in the old way, by name as well', async () => {
    const names = ['named', 'of-workspace', 'of-rig', 'of-pack', 'of-fragment'];
    for (const name of names) await (await repository(name)).commit({ 'pack.toml': pack(name) }, 'v1.0.0', 'v1.4.0');
    await city({ local: 'packs/local' });
    await mkdir(path.join(cityDir, 'packs/local'), { recursive: true });
    await writeFile(path.join(cityDir, 'packs/local/pack.toml'), `includes = ["${url('of-pack')}"]\n${pack('local')}`);
    await writeFile(path.join(cityDir, 'more.toml'), `[workspace]\nincludes = ["${url('of-fragment')}"]\n`);
    await writeFile(
      path.join(cityDir, 'city.toml'),
      `include = ["more.toml"]\n[workspace]\nstart_command = "x"\nincludes = ["named", "${url('of-workspace')}"]\n` +
        `[packs.named]\nsource = "${url('named')}"\nversion = "1.0"\n[[rigs]]\nname = "web"\nincludes = ["${url('of-rig')}"]\n`,
    );
    const { lock } = await resolve();
    expect([...lock.keys()].sort()).toEqual(names.map((name) => sourceOf(url(name)).id).sort());
    expect(lock.get(sourceOf(url('named')).id)?.version).toBe('1.0.0');
    expect(await errorsWith(lock)).toEqual([]);
  });

  it('comes to an end with packs that import each other', async () => {
    const a = await repository('cycle-a');
    const b = await repository('cycle-b');
    await a.commit({ 'pack.toml': pack('a', { b: url('cycle-b'), self: '.' }) }, 'v1.0.0');
    await b.commit({ 'pack.toml': pack('b', { a: url('cycle-a') }) }, 'v1.0.0');
    await mkdir(path.join(cityDir, 'l'));
    await writeFile(path.join(cityDir, 'l/pack.toml'), pack('l', { l: '../l', up: '..' }));
    await city({ a: url('cycle-a'), l: 'l' });
    expect((await resolve()).lock.size).toBe(2);
  });

  it('fetches what a lock pins where it is not there yet, once however many ask', async () => {
    const shared = await repository('shared');
    const commit = await shared.commit({ 'pack.toml': pack('shared') }, 'v1.0.0');
    const lock: Lock = new Map([[sourceOf(url('shared')).id, { version: '1.0.0', commit, fetched: '2026-01-15T10:00:00Z' }]]);
    expect(await find(lock, url('shared'))).toEqual({ missing: 'it was not fetched yet: install the packs of this city' });
    await Promise.all(Array.from({ length: 6 }, () => new PackInstaller(citiesRoot, git).ensureInstalled(lock)));
    expect(await find(lock, url('shared'))).toMatchObject({ commit });
    expect(await readdir(path.join(citiesRoot, '.packs'))).toHaveLength(1);
  });

  // Guard: a pack may import its own repository a thousand times.
  it('looks once at each checkout, however many import it, and no longer than its time', async () => {
    const many = await repository('many');
    const own = Object.fromEntries(Array.from({ length: 30 }, (_, n) => [`i${n}`, url('many')]));
    await many.commit({ 'pack.toml': pack('many', own) }, 'v1.0.0');
    await city({ m: url('many') });
    const looks = jest.spyOn(CheckoutStore.prototype, 'ensure');
    try {
      const { lock } = await resolve();
      const { length } = looks.mock.calls;
      expect(length).toBeLessThanOrEqual(2);
      const lines: Lock = new Map([...lock].flatMap(([id, pin]) => [[id, pin] as const, [`${id}//agents`, pin] as const]));
      await installer.ensureInstalled(lines);
      expect(looks.mock.calls.length - length).toBe(1);
      await expect(installer.ensureInstalled(lines, undefined, AbortSignal.abort())).rejects.toThrow('given up');
    } finally {
      looks.mockRestore();
    }
  });

  it('refuses a checkout that was changed, and puts it right again', async () => {
    const touched = await repository('touched');
    const commit = await touched.commit({ 'pack.toml': pack('touched'), 'agents/a/prompt.md': 'good' }, 'v1.0.0');
    await city({ t: url('touched') });
    const { lock } = await resolve();
    const [name] = await readdir(path.join(citiesRoot, '.packs'));
    const at = path.join(citiesRoot, '.packs', name!);
    const prompt = path.join(at, 'tree/agents/a/prompt.md');
    const spoil: (() => Promise<unknown>)[] = [
      async () => {
        const when = new Date(1_000_000_000_000);
        await writeFile(prompt, 'evil');
        await utimes(prompt, when, when);
      },
      () => writeFile(path.join(at, 'tree/agents/a/more.md'), ''),
      () => unlink(prompt),
      () => writeFile(path.join(at, 'manifest.json'), '{}'),
      () => writeFile(path.join(at, 'manifest.json'), JSON.stringify({ url: url('other'), commit, digest: '' })),
      () => symlink('/etc', path.join(at, 'tree/etc')),
    ];
    for (const act of spoil) {
      await act();
      expect(await find(lock, url('touched'))).toMatchObject({ missing: expect.stringContaining('its checkout was changed') });
      await installer.ensureInstalled(lock);
      expect(await find(lock, url('touched'))).toMatchObject({ commit });
      expect(await readFile(prompt, 'utf8')).toBe('good');
    }
  });

  it('removes what a dead process left, and not what a living one needs', async () => {
    const some = await repository('some');
    await some.commit({ 'pack.toml': pack('some') }, 'v1.0.0');
    const [old, young] = ['.work-old', '.work-young'].map((name) => path.join(citiesRoot, '.packs', name));
    await mkdir(path.join(old!, 'x'), { recursive: true });
    await mkdir(young!);
    await utimes(old!, new Date(0), new Date(0));
    await city({ some: url('some') });
    await resolve();
    expect([existsSync(old!), existsSync(young!)]).toEqual([false, true]);
    await rm(young!, { recursive: true });
  });

  it('leaves nothing unfinished in a store that is a link, and says why it failed', async () => {
    const volume = await mkdtemp(path.join(base, 'cities-volume-'));
    await symlink(volume, path.join(citiesRoot, '.packs'));
    const old = path.join(volume, '.work-old');
    await mkdir(path.join(old, 'x'), { recursive: true });
    await utimes(old, new Date(0), new Date(0));
    const some = await repository('linked');
    const commit = await some.commit({ 'pack.toml': pack('linked') }, 'v1.0.0');
    await new CheckoutStore(citiesRoot, git).ensure(sourceOf(url('linked')), commit, new AbortController().signal);
    expect(await readdir(volume)).toEqual([expect.stringMatching(/^[0-9a-f]{64}$/)]);

    await city({ some: `${url('linked')} @sha:${'a'.repeat(40)}` });
    expect(await failure(resolve())).toMatchObject({
      code: 'install_failed',
      message: expect.stringContaining('does not have this commit'),
    });
    expect(await readdir(volume)).toHaveLength(1);
  });
});

describe('hostile sources', () => {
  it.each([
    ['../../../etc', undefined],
    ['/etc', undefined],
    ['https://user:secret@example.org/x', 'invalid_source'],
    ['http://169.254.169.254/x', 'invalid_source'],
    ['https://2130706433/x', 'invalid_source'],
    ['https://[::ffff:127.0.0.1]/x', 'invalid_source'],
    ['ssh://git@127.0.0.1/x', 'invalid_source'],
    ['ext::sh -c touch /tmp/x', 'invalid_source'],
    ['file:///etc', 'invalid_source'],
    ['https://nowhere.invalid/x', 'lookup_failed'],
  ])('%s', async (source, code) => {
    await city({ x: source });
    // Composing tells of a directory that is none; there is nothing to fetch.
    if (code === undefined) expect((await resolve()).lock.size).toBe(0);
    else {
      const error = await failure(resolve());
      expect(error.code).toBe(code);
      expect(error.message).not.toContain('secret');
    }
  });

  it('takes repositories on disk from the cities root only, and from no pack of elsewhere', async () => {
    const inside = await TestRepository.make(path.join(citiesRoot, 'bare'));
    await inside.commit({ 'pack.toml': pack('bare') }, 'v1.0.0');
    await city({ x: `file://${inside.directory}` });
    expect((await resolve()).lock.size).toBe(1);
    await symlink(path.join(base, 'served'), path.join(citiesRoot, 'link'));
    await city({ x: `file://${citiesRoot}/link/base` });
    expect((await failure(resolve())).code).toBe('invalid_source');
    const remote = await repository('reaches-in');
    await remote.commit({ 'pack.toml': pack('r', { x: `file://${inside.directory}` }) }, 'v1.0.0');
    await city({ x: url('reaches-in') });
    expect((await failure(resolve())).code).toBe('invalid_source');
    await remote.commit({ 'pack.toml': pack('r', { x: cityDir, y: '../../..' }) }, 'v1.1.0');
    expect((await resolve()).lock.size).toBe(1);
  });

  it("takes no repository on disk that is another city's, what was fetched of it neither", async () => {
    const theirs = await TestRepository.make(path.join(citiesRoot, 'theirs'));
    await theirs.commit({ 'pack.toml': pack('theirs') }, 'v1.0.0');
    const source = `file://${theirs.directory}`;
    await city({ x: source });
    const isOthers = (directory: string): Promise<boolean> => Promise.resolve(directory === theirs.directory);
    const tree = new DiskTree(cityDir);
    const refused = await failure(installer.resolve({ city: tree, cityDir, lock: new Map(), isOthers }));
    expect([refused.code, refused.message]).toEqual(['invalid_source', expect.stringContaining('and in no other city')]);
    const { lock } = await resolve();
    await rm(path.join(citiesRoot, '.packs'), { recursive: true });
    expect((await failure(installer.ensureInstalled(lock, isOthers))).code).toBe('invalid_source');
    await installer.ensureInstalled(lock);
    const found = (more: object): Promise<object> =>
      new DiskPackStore({ city: tree, cityDir, citiesRoot, ledger: tree.ledger, lock, ...more }).find({
        source,
        version: undefined,
        from: tree,
        folder: '',
      });
    expect(await found({})).not.toHaveProperty('missing');
    expect(await found({ isOthers })).toEqual({ missing: 'there is no such directory, or it belongs to another city' });
  });

  it('checks where imports of imports lead', async () => {
    const remote = await repository('transitive');
    await remote.commit({ 'pack.toml': pack('t', { x: 'http://10.0.0.1/x' }) }, 'v1.0.0');
    await city({ x: url('transitive') });
    const error = await failure(resolve());
    expect([error.code, error.host]).toEqual(['invalid_source', '10.0.0.1']);
  });

  it('says who has to give credentials', async () => {
    await city({ x: `${server.url}/login/x` });
    const error = await failure(resolve());
    expect(error).toMatchObject({
      code: 'credentials_required',
      host: '127.0.0.1',
      repository: `${server.url}/login/x`,
      hint: expect.stringContaining('[[git.credentials]]'),
    });
  });

  it.each(['hang', 'drip'])('ends with its time when a server does not: %s', async (kind) => {
    installer = new PackInstaller(citiesRoot, git, { deadlineMs: 100 });
    await city({ x: `${server.url}/${kind}/x @^1` });
    expect(await failure(resolve())).toMatchObject({ code: 'lookup_failed', message: expect.stringContaining('took too long') });
    await city({ x: `${server.url}/${kind}/x @sha:${'a'.repeat(40)}` });
    expect(await failure(resolve())).toMatchObject({ code: 'install_failed', message: expect.stringContaining('took too long') });
    expect((await failure(resolve(new Map(), AbortSignal.abort()))).message).toContain('given up');
  });

  it.each<[string, Record<string, string | Buffer>, RegExp]>([
    ['a link out of the repository', { 'agents/x': '-> ../../../../../../etc' }, /agents\/x: it leads outside/],
    ['a link to a file outside', { 'secret.md': '-> /etc/passwd' }, /secret.md: it leads outside/],
    ['a link out of it through another one', { 'a/b/up': '-> ../..', l: '-> a/b/up/../../../other/secret' }, /l: it leads outside/],
    ['a link in circles', { 'a/up': '-> ..' }, /directory above it/],
    ['a loop of links', { loop: '-> loop' }, /loop of symbolic links/],
    ['depth', { [`${'d/'.repeat(40)}f`]: 'x' }, /32 directories deep/],
    ['too many files in one directory', Object.fromEntries(Array.from({ length: 2_100 }, (_, n) => [`many/${n}`, ''])), /2000 entries/],
  ])('refuses a repository with %s', async (name, files, message) => {
    const hostile = await repository('hostile');
    await hostile.commit({ 'pack.toml': pack('hostile'), ...files }, 'v1.0.0');
    await city({ x: url('hostile') });
    expect(await failure(resolve())).toMatchObject({ code: 'install_failed', message: expect.stringMatching(message) });
    expect(await readdir(path.join(citiesRoot, '.packs'))).toEqual([]);
    expect(name).not.toBe('');
  });

  // What an older release stored, whose links nobody has looked at: a link to nowhere is no file, so the digest knows nothing of it.
  it('refuses a stored checkout with a link to nowhere as soon as that leads outside', async () => {
    const stored = await repository('stored');
    const commit = await stored.commit({ 'pack.toml': pack('stored') }, 'v1.0.0');
    await city({ x: url('stored') });
    const { lock } = await resolve();
    const store = new CheckoutStore(citiesRoot, git);
    const source = sourceOf(url('stored'));
    const tree = path.join(await store.ensure(source, commit, new AbortController().signal), 'tree');
    await symlink('../../../other/secret', path.join(tree, 'l'));
    expect(await find(lock, url('stored'))).toMatchObject({ commit });

    await mkdir(path.join(citiesRoot, 'other'));
    await writeFile(path.join(citiesRoot, 'other/secret'), 'x');
    expect(await find(lock, url('stored'))).toEqual({ missing: expect.stringContaining('l: it leads outside') });
    // Fetched anew, it is looked at.
    await store.ensure(source, commit, new AbortController().signal);
    expect(await readdir(tree)).toEqual(['pack.toml']);
  });

  it('refuses more than fits, as soon as it shows', async () => {
    expect(CHECKOUT_LIMITS.bytes).toBe(256 * 1024 * 1024);
    installer = new PackInstaller(citiesRoot, git, { checkouts: { ...CHECKOUT_LIMITS, bytes: 8 * 1024 * 1024 } });
    const large = await repository('large');
    await large.commit({ 'pack.toml': pack('large') });
    // Zeros compress well: little to send, much to write.
    await large.commit(Object.fromEntries(Array.from({ length: 5 }, (_, n) => [`zeros${n}`, Buffer.alloc(2 * 1024 * 1024)])), 'v1.0.0');
    await city({ x: url('large') });
    expect(await failure(resolve())).toMatchObject({ code: 'install_failed', message: expect.stringContaining('larger than 8 MiB') });
    expect(await readdir(path.join(citiesRoot, '.packs'))).toEqual([]);
  });

  it('answers a folder that leads upwards, a missing one and a file of 10 MB', async () => {
    const odd = await repository('odd');
    const commit = await odd.commit({ 'pack.toml': Buffer.alloc(10 * 1024 * 1024, '#'), 'fine/pack.toml': pack('fine') }, 'v1.0.0');
    await city({ x: `${url('odd')}//../../etc` });
    expect((await failure(resolve())).code).toBe('invalid_source');
    await city({ x: `${url('odd')}//none` });
    expect(await failure(resolve())).toMatchObject({ code: 'install_failed', message: expect.stringContaining('no such directory') });
    await city({ x: url('odd') });
    const { issues } = await resolve();
    expect(issues).toMatchObject([{ file: expect.stringContaining('pack.toml'), message: 'it is larger than 1 MiB' }]);
    expect(await new CheckoutStore(citiesRoot, git).ensure(sourceOf(url('odd')), commit, new AbortController().signal)).toContain('.packs');
  });

  it('refuses a pipe in a pack on disk', async () => {
    await mkdir(path.join(cityDir, 'p'));
    execFileSync('mkfifo', [path.join(cityDir, 'p/pack.toml')]);
    await city({ x: 'p' });
    expect((await resolve()).issues).toMatchObject([{ file: 'p:pack.toml', message: expect.stringContaining('pipe') }]);
  });

  it('follows only so many imports', async () => {
    const names = Array.from({ length: 21 }, (_, n) => `p${n}`);
    const many = Object.fromEntries(Array.from({ length: 500 }, (_, n) => [`i${n}`, 'missing']));
    for (const name of names) {
      await mkdir(path.join(cityDir, name));
      await writeFile(path.join(cityDir, name, 'pack.toml'), pack(name, many));
    }
    await city(Object.fromEntries(names.map((name) => [name, name])));
    expect(await failure(resolve())).toMatchObject({ code: 'install_failed', message: 'there are more than 10000 imports' });
  });

  it('leaves nothing behind when the store cannot be written', async () => {
    const some = await repository('readonly');
    await some.commit({ 'pack.toml': pack('x') }, 'v1.0.0');
    await city({ x: url('readonly') });
    await writeFile(path.join(citiesRoot, '.packs'), 'a file is in the way');
    expect(await failure(resolve())).toMatchObject({
      code: 'install_failed',
      message: expect.stringContaining('cannot be kept here (EEXIST)'),
    });
    await unlink(path.join(citiesRoot, '.packs'));
  });
});
