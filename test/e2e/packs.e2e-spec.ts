import { appendFile, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { startStack, type Stack } from '../support/app.js';
import { postUntilTaken } from '../support/crew.js';
import { api, outcome, type Api } from '../support/http.js';
import { Ledger } from '../support/ledger.js';
import { startRepositories, type Repositories, type TestRepository } from '../support/repositories.js';

const CITY = 'packs-city';

let git: Repositories;
let desk: TestRepository;
let stack: Stack;
let a: Api;
let b: Api;
let ledger: Ledger;

const path = (rest: string): string => `/v0/city/${CITY}/${rest}`;
const file = (name: string): string => join(stack.citiesRoot, CITY, name);
const text = (name: string): Promise<string> => readFile(file(name), 'utf8');
// Not by its address: no answer may hold one.
const server = (): string => git.url.replace('127.0.0.1', 'localhost');
const url = (name: string): string => `${server()}/smart/${name}`;
const names = async (client: Api): Promise<string[]> =>
  ((await client.get(path('packs'))).body.packs as { name: string }[]).map(({ name }) => name);
const events = async (type: string): Promise<{ payload: Record<string, unknown> }[]> =>
  (await b.get(path(`events?after_seq=0&limit=1000&type=${type}`))).body.items;
const manifest = (name: string, rest = ''): string => `[pack]\nname = "${name}"\nschema = 2\nversion = "9"\ndescription = "d"\n${rest}`;

beforeAll(async () => {
  git = await startRepositories();
  desk = await git.make('desk');
  await desk.commit(
    { 'pack.toml': manifest('desk'), 'agents/triager/agent.toml': 'scope = "city"\n', 'agents/triager/prompt.md': 'Sort.' },
    'v1.0.0',
  );
  await desk.commit({ 'formulas/ship.toml': 'formula = "ship"\n' }, 'v1.1.0');
  stack = await startStack({ config: { allowedTargets: [{ host: 'localhost' }] } });
  [a, b] = stack.urls.map((each) => api(each)) as [Api, Api];
  ledger = await Ledger.open(stack);
  await ledger.succeeded(await a.post('/v0/city', { dir: CITY, provider: 'loopback' }), 'request.result.city.create');
  await appendFile(file('pack.toml'), '\n# kept whatever happens\n');
});
afterAll(async () => {
  await ledger?.stream.close();
  await stack?.stop();
  await git?.close();
});

describe('packs', () => {
  it('adds one from a repository: pinned, written and running on every replica with the answer', async () => {
    const body = { source: url('desk') };
    const key = { 'Idempotency-Key': 'desk-1' };
    const added = { name: 'desk', source: url('desk'), version: '^1.1', git_backed: true };
    const reply = await a.post(path('packs'), body, key);
    expect(reply).toMatchObject({ status: 201, body: added });
    expect((await b.get(path('agents'))).body.items).toContainEqual(expect.objectContaining({ name: 'desk.triager' }));
    const listed = (await b.get(path('packs'))).body.packs as Record<string, unknown>[];
    expect(listed.find(({ name }) => name === 'desk')).toEqual({
      name: 'desk',
      source: url('desk'),
      version: '^1.1',
      pack: 'desk',
      pack_version: '9',
      description: 'd',
      resolved_version: '1.1.0',
      commit: expect.stringMatching(/^[0-9a-f]{40}$/),
    });
    expect(await text('pack.toml')).toMatch(/# kept whatever happens/);
    expect(await text('packs.lock')).toContain('version = "1.1.0"');
    expect(await events('pack.added')).toMatchObject([{ payload: { pack: 'desk' } }]);
    const asked = git.requests.length;
    expect(await b.post(path('packs'), body, key)).toMatchObject({ status: 201, body: added });
    expect(git.requests).toHaveLength(asked);
    expect(await b.post(path('packs'), { source: 'builtin:core' }, key)).toMatchObject({
      status: 422,
      body: { code: 'idempotency-mismatch' },
    });
    expect(await b.post(path('packs'), body)).toMatchObject({ status: 409, body: { title: 'Wrong State Conflict' } });
  });

  it.each<[string, Record<string, unknown>, number, RegExp]>([
    ['a directory', { source: '../other' }, 400, /invalid import source/],
    ['a file URL', { source: 'file:///srv/x' }, 400, /invalid import source/],
    ['user info', { source: 'https://u:secret@example.org/x' }, 400, /invalid import source: it names a user/],
    ['a private address', { source: 'http://10.0.0.1/x' }, 400, /invalid import source: .*may not be called/],
    ['a ref', { source: 'https://example.org/x#main' }, 400, /given as version/],
    ['a version that is none', { source: 'https://example.org/x', version: 'newest' }, 400, /invalid version/],
    ['a reserved name', { source: 'builtin:core', name: 'default-rig:x' }, 400, /name must begin/],
    ['a pack that is not shipped', { source: 'builtin:none' }, 422, /no pack is shipped/],
    ['an unknown member', { source: 'builtin:core', more: 1 }, 422, /more/],
    ['no source', {}, 422, /source/],
  ])('refuses %s and changes nothing', async (_, body, status, detail) => {
    const before = await Promise.all(['pack.toml', 'city.toml', 'packs.lock'].map(text));
    const reply = await a.post(path('packs'), body);
    expect([reply.status, reply.text]).toEqual([status, expect.stringMatching(detail)]);
    expect(reply.text).not.toContain('secret');
    expect(await Promise.all(['pack.toml', 'city.toml', 'packs.lock'].map(text))).toEqual(before);
  });

  it('says what a repository lacks', async () => {
    const broken = await git.make('broken');
    await broken.commit({ 'pack.toml': manifest('broken', 'unknown_key = 1\n') }, 'v1.0.0');
    const linked = await git.make('linked');
    await linked.commit({ 'pack.toml': manifest('linked'), 'assets/x': '-> /etc/passwd' }, 'v1.0.0');
    expect(await a.post(path('packs'), { source: url('broken') })).toMatchObject({
      status: 422,
      body: { detail: expect.stringContaining('unknown_key') },
    });
    expect(await a.post(path('packs'), { source: url('linked') })).toMatchObject({
      status: 422,
      body: { detail: expect.stringContaining('leads outside') },
    });
    expect(await a.post(path('packs'), { source: url('desk'), name: 'desk2', version: '^7' })).toMatchObject({ status: 400 });
    expect(await a.post(path('packs'), { source: url('none') })).toMatchObject({
      status: 502,
      body: { detail: expect.stringContaining('version lookup failed') },
    });
    const locked = await a.post(path('packs'), { source: `${server()}/login/x` });
    expect(locked).toMatchObject({ status: 409, body: { title: 'Pack Credential Required' } });
    expect((locked.body.errors as { location: string }[]).map(({ location }) => location)).toEqual(['body.host', 'body.repo', 'body.hint']);
    expect(await names(b)).not.toContain('broken');
  });

  it('loses none of two that are added at once', async () => {
    for (const name of ['left', 'right']) await (await git.make(name)).commit({ 'pack.toml': manifest(name) }, 'v1.0.0');
    const add = (at: Api, name: string): Promise<number> => postUntilTaken(at, path('packs'), { source: url(name) });
    expect(await Promise.all([add(a, 'left'), add(b, 'right')])).toEqual([201, 201]);
    expect(await names(a)).toEqual(expect.arrayContaining(['desk', 'left', 'right']));
    expect(await text('packs.lock')).toMatch(/smart\/left[\s\S]*smart\/right/);
  });

  it('installs what was written by hand', async () => {
    await (await git.make('hand')).commit({ 'pack.toml': manifest('hand') }, 'v0.1.0');
    await appendFile(file('pack.toml'), `[imports.hand]\nsource = "${url('hand')}"\nversion = "^0.1"\n`);
    expect(await a.post(path('config/reload'))).toMatchObject({
      status: 422,
      body: { detail: expect.stringContaining('install the packs of this city') },
    });
    const reply = await b.post(path('packs/install'));
    expect(reply).toMatchObject({ status: 200, body: { changed: true } });
    expect(reply.body.pins).toContainEqual({
      source: url('hand'),
      version: '0.1.0',
      commit: expect.any(String),
      fetched: expect.any(String),
    });
    expect(await names(a)).toContain('hand');
    expect(await a.post(path('packs/install'))).toMatchObject({ status: 200, body: { changed: false } });
  });

  it('fetches again what is gone when the city comes up', async () => {
    await ledger.succeeded(await a.post(`/v0/city/${CITY}/stop`), 'request.result.city.stop');
    await rm(join(stack.citiesRoot, '.packs'), { recursive: true });
    await ledger.succeeded(await a.post(`/v0/city/${CITY}/start`), 'request.result.city.start');
    expect((await readdir(join(stack.citiesRoot, '.packs'))).length).toBeGreaterThan(3);
    expect(await names(b)).toContain('desk');
  });

  it('removes one, those of new rigs too, and first where its word counts', async () => {
    await appendFile(file('city.toml'), `\n[defaults.rig.imports.left]\nsource = "${url('left')}"\n`);
    expect(outcome(await a.post(path('config/reload')))).toBe(200);
    expect(await names(a)).toContain('default-rig:left');
    expect(await b.delete(path('packs/default-rig:left'))).toMatchObject({ status: 200, body: { name: 'default-rig:left' } });
    expect(await text('city.toml')).not.toContain('defaults');
    expect(await names(a)).toContain('left');
    await appendFile(file('city.toml'), '\n[imports.left]\nsource = "builtin:core"\n');
    expect(outcome(await a.post(path('config/reload')))).toBe(200);
    expect(outcome(await a.delete(path('packs/left')))).toBe(200);
    expect((await b.get(path('packs'))).body.packs).toContainEqual(expect.objectContaining({ name: 'left', source: url('left') }));
    expect(outcome(await a.delete(path('packs/left')))).toBe(200);
    expect(outcome(await a.delete(path('packs/desk')))).toBe(200);
    expect(await names(b)).not.toEqual(expect.arrayContaining(['left']));
    expect(await text('packs.lock')).not.toMatch(/smart\/(left|desk)"/);
    expect(await text('pack.toml')).toMatch(/# kept whatever happens/);
    expect(await a.delete(path('packs/desk'))).toMatchObject({
      status: 404,
      body: { detail: 'not_found: import not found: import "desk" not found' },
    });
    expect((await events('pack.removed')).map(({ payload }) => payload.pack)).toEqual(expect.arrayContaining(['left', 'desk']));
  });

  it('refuses to take away what others build on', async () => {
    await (
      await git.make('base')
    ).commit({ 'pack.toml': manifest('base'), 'agents/one/agent.toml': '', 'agents/one/prompt.md': 'x' }, 'v1.0.0');
    expect(outcome(await a.post(path('packs'), { source: url('base') }))).toBe(201);
    expect(outcome(await a.send('PUT', path('patches/agents'), { name: 'base.one', suspended: true }))).toBe(200);
    const before = await text('pack.toml');
    expect(await a.delete(path('packs/base'))).toMatchObject({ status: 422 });
    expect(await text('pack.toml')).toBe(before);
    await writeFile(file('packs.lock'), 'schema = 7\n');
    expect(await a.post(path('packs'), { source: url('left') })).toMatchObject({
      status: 409,
      body: { detail: expect.stringContaining('packs.lock') },
    });
  });
});
