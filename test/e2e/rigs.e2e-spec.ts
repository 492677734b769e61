import { execFile } from 'node:child_process';
import { mkdir, readFile, readdir, stat, symlink, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { startStack, type Stack } from '../support/app.js';
import { startGitServer, type GitServer } from '../support/git-server.js';
import { api, insist, outcome, type Api, type Reply } from '../support/http.js';
import { Ledger } from '../support/ledger.js';
import { expectRefusal } from '../support/refusal.js';
import { eventually } from '../support/sse.js';

const run = promisify(execFile);
const city = '/v0/city/alpha';
let git: GitServer;
let stack: Stack;
let a: Api;
let b: Api;
let ledger: Ledger;

beforeAll(async () => {
  git = await startGitServer();
  await git.repository('shop', { 'README.md': 'shop\n' }, 'trunk');
  stack = await startStack({ workers: 2, config: { allowedTargets: [{ host: '127.0.0.1', port: git.port }] } });
  [a, b] = stack.urls.map((url) => api(url)) as [Api, Api];
  ledger = await Ledger.open(stack);
  await ledger.succeeded(await a.post('/v0/city', { dir: 'alpha', provider: 'loopback' }), 'request.result.city.create');
  await ledger.succeeded(await a.post('/v0/city', { dir: 'beta', provider: 'loopback' }), 'request.result.city.create');
});
afterAll(async () => {
  await ledger?.stream.close();
  await stack?.stop();
  await git?.close();
});

const inCity = (...parts: string[]): string => path.join(stack.citiesRoot, 'alpha', ...parts);
const file = (name: string): Promise<string> => readFile(inCity(name), 'utf8');
const made = async (body: object, at = a): Promise<Reply> => {
  const reply = await at.post(`${city}/rigs`, body);
  expect(outcome(reply)).toBe(201);
  return reply;
};
interface Told {
  readonly type: string;
  readonly subject: string;
  readonly actor: string;
  readonly payload: Record<string, unknown>;
}
const events = async (subject: string): Promise<Told[]> =>
  (await b.get(`${city}/events?after_seq=0&limit=1000&subject=${subject}`)).body.items;
const kinds = async (subject: string): Promise<string[]> => (await events(subject)).map((event) => event.type);

describe('rigs in directories', () => {
  it('are written into both files, keep the comments there, and are seen by the other replica at once', async () => {
    await writeFile(inCity('city.toml'), `${await file('city.toml')}\n# the end of a file that people edit\n`);
    await a.post(`${city}/config/reload`);
    const reply = await made({ name: 'store-front', default_branch: 'main' });
    expect(reply.body).toEqual({ status: 'created', rig: 'store-front', prefix: 'sf', default_branch: 'main' });
    expect(reply.headers.get('location')).toBe(`${city}/rig/store-front`);
    expect((await b.get(reply.headers.get('location')!)).body).toEqual({
      name: 'store-front',
      path: 'rigs/store-front',
      prefix: 'sf',
      default_branch: 'main',
      suspended: false,
      suspended_declared: false,
      suspended_runtime: null,
      agent_count: expect.any(Number),
      running_count: 0,
    });
    expect((await stat(inCity('rigs/store-front'))).isDirectory()).toBe(true);
    expect(await file('city.toml')).toMatch(
      /# the end of a file that people edit[\s\S]*name = "store-front"|name = "store-front"[\s\S]*# the end/,
    );
    expect(await file('city.toml')).not.toContain('rigs/store-front');
    expect(await file('.gc/site.toml')).toContain('path = "rigs/store-front"');
    expect(await kinds('store-front')).toEqual(['rig.created']);
  });

  it('give their prefix to the ids of their beads, from the next one on', async () => {
    await made({ name: 'warehouse', prefix: 'WH' });
    const first = await a.post(`${city}/beads`, { title: 'one', rig: 'warehouse' });
    expect(first.body.id).toBe('wh-1');
    expect((await a.patch(`${city}/rig/warehouse`, { prefix: 'whs' })).body).toEqual({ status: 'updated' });
    expect((await b.post(`${city}/beads`, { title: 'two', rig: 'warehouse' })).body.id).toBe('whs-1');
    const rig = (await b.get(`${city}/rig/warehouse`)).body;
    expect(rig).toMatchObject({ prefix: 'whs' });
    expect(Date.parse(rig.last_activity)).toBeGreaterThan(Date.now() - 60_000);
  });

  // Guard: also those that a fragment says.
  it('get the imports that every new rig gets', async () => {
    const before = await file('city.toml');
    const importOf = (name: string): string => `\n[defaults.rig.imports.${name}]\nsource = "packs/${name}"\n`;
    for (const name of ['desk', 'shelf']) {
      await mkdir(inCity('packs', name), { recursive: true });
      await writeFile(inCity('packs', name, 'pack.toml'), `[pack]\nname = "${name}"\nschema = 2\n`);
    }
    await writeFile(inCity('more.toml'), importOf('shelf'));
    await writeFile(inCity('city.toml'), `include = ["more.toml"]\n${before}${importOf('desk')}`);
    expect((await a.post(`${city}/config/reload`)).status).toBe(200);
    await made({ name: 'imported' });
    const cloned = await a.post(`${city}/rigs`, { name: 'shelved', git_url: git.url('shop') });
    await ledger.succeeded(cloned, 'request.result.rig.create');
    const { config } = (await b.get(`${city}/config/composed`)).body;
    for (const name of ['imported', 'shelved'])
      expect(config.rigs.find((rig: { name: string }) => rig.name === name).imports).toMatchObject({
        desk: { source: 'packs/desk' },
        shelf: { source: 'packs/shelf' },
      });
    await writeFile(inCity('more.toml'), '');
    await writeFile(inCity('city.toml'), (await file('city.toml')).replace(importOf('desk'), ''));
    expect((await a.post(`${city}/config/reload`)).status).toBe(200);
  });

  it('answer a repeated key with what they answered first', async () => {
    const body = { name: 'keyed', request_id: 'mine-0001' };
    const replies = [];
    for (const at of [a, b]) replies.push(await at.post(`${city}/rigs`, body, { 'Idempotency-Key': 'k-1' }));
    expect(replies.map((reply) => reply.status)).toEqual([201, 201]);
    expect(replies[1]!.body).toEqual(replies[0]!.body);
    expect(replies[0]!.body.request_id).toBe('mine-0001');
    expectRefusal(await a.post(`${city}/rigs`, { name: 'other' }, { 'Idempotency-Key': 'k-1' }), `${city}/rigs`, {
      status: 422,
      detail: 'idempotency_mismatch: Idempotency-Key reused with different request body',
    });
  });

  it('tell the state of their repository when they are asked, and nothing of the one above them', async () => {
    await mkdir(inCity('rigs/work'), { recursive: true });
    const at = { cwd: inCity('rigs/work') };
    await run('git', ['init', '--quiet', '--initial-branch=develop'], at);
    await writeFile(inCity('rigs/work/.gitattributes'), '* filter=evil\n');
    await writeFile(inCity('rigs/work/a'), 'a');
    await run('git', ['add', 'a'], at);
    await writeFile(inCity('rigs/work/a'), 'b');
    // A repository's own settings may name programs; none of them runs.
    await run('git', ['config', 'filter.evil.clean', `touch ${inCity('evil')}`], at);
    await run('git', ['config', 'filter.evil.required', 'true'], at);
    await run('git', ['config', 'core.fsmonitor', `touch ${inCity('evil')}`], at);
    expect((await made({ name: 'work' })).body).toMatchObject({ default_branch: 'develop' });
    expect((await a.get(`${city}/rig/work?git=true`)).body.git).toEqual({
      branch: 'develop',
      clean: false,
      changed_files: 2,
      ahead: 0,
      behind: 0,
    });
    expect(await readdir(inCity())).not.toContain('evil');
    const list = (await b.get(`${city}/rigs?git=true`)).body;
    expect(list.total).toBe(list.items.length);
    expect(list.items.map((rig: { name: string }) => rig.name)).toContain('work');
    expect(list.items.find((rig: { name: string }) => rig.name === 'store-front')).not.toHaveProperty('git');
    expect((await b.get(`${city}/rigs`)).body.items[0]).not.toHaveProperty('git');
  });

  it('are suspended and resumed whatever the files say, and tell it once', async () => {
    const act = (action: string, at = a): Promise<Reply> => at.post(`${city}/rig/keyed/${action}`);
    const state = async (): Promise<unknown[]> => {
      const { suspended, suspended_declared: declared, suspended_runtime: runtime } = (await b.get(`${city}/rig/keyed`)).body;
      return [suspended, declared, runtime];
    };
    const replies = await Promise.all([act('suspend'), act('suspend', b), act('suspend'), act('suspend', b)]);
    for (const reply of replies) expect(reply.body).toEqual({ status: 'ok', action: 'suspend', rig: 'keyed' });
    expect(await state()).toEqual([true, false, true]);
    await a.patch(`${city}/rig/keyed`, { suspended: true });
    await act('resume');
    expect(await state()).toEqual([false, true, false]);
    await act('reset');
    expect(await state()).toEqual([true, true, null]);
    await act('reset');
    expect((await kinds('keyed')).filter((kind) => /suspended|resumed/.test(kind))).toEqual([
      'rig.suspended',
      'rig.resumed',
      'rig.suspended',
    ]);
    expect((await act('restart')).body).toEqual({ status: 'ok', action: 'restart', rig: 'keyed', killed: [], failed: [] });
  });

  it('wait with an answer until something happens', async () => {
    const index = Number((await a.get(`${city}/rigs`)).headers.get('x-svc-index'));
    const waiting = a.get(`${city}/rigs?index=${index}&wait=20s`);
    await made({ name: 'awaited' }, b);
    expect((await waiting).body.items.map((rig: { name: string }) => rig.name)).toContain('awaited');
  });

  it('move to another directory, and refuse an update that says nothing or comes too late', async () => {
    expect((await a.patch(`${city}/rig/awaited`, { path: 'elsewhere/awaited', prefix: '' })).status).toBe(200);
    expect((await b.get(`${city}/rig/awaited`)).body.path).toBe('elsewhere/awaited');
    const path_ = `${city}/rig/awaited`;
    for (const body of [{}, { prefix: ' ' }])
      expectRefusal(await a.patch(path_, body), path_, { status: 400, detail: 'invalid: no fields to update' });
    expectRefusal(await a.patch(path_, { suspended: true }, { 'If-Match': '"1"' }), path_, { status: 412, detail: 'revision_mismatch: …' });
    expectRefusal(await a.patch(path_, { prefix: 'whs' }), path_, {
      status: 409,
      detail: 'conflict: prefix "whs" belongs to rig "warehouse"',
      fields: ['body.prefix'],
    });
    expectRefusal(await a.patch(path_, { path: '../beta/x' }), path_, {
      status: 400,
      detail: 'invalid: invalid rig path: it lies in another city',
    });
  });

  it('are removed with what belongs to them; what else names them is named, or goes as well', async () => {
    const target = `${city}/rig/imported`;
    await writeFile(inCity('city.toml'), `${await file('city.toml')}\n[[patches.rigs]]\nname = "imported"\ndefault_branch = "x"\n`);
    await a.post(`${city}/config/reload`);
    const refused = await a.delete(target);
    expectRefusal(refused, target, {
      status: 409,
      detail: /^conflict: rig "imported" is still named by patches\.rigs "imported"/,
      fields: ['city.toml'],
    });
    expect((await a.delete(`${target}?cascade=true`)).body).toEqual({ status: 'deleted' });
    expectRefusal(await b.get(target), target, { status: 404, detail: 'not_found: rig imported not found' });
    expect(await file('city.toml')).not.toMatch(/imported"|patches|defaults/);
    expect(await file('.gc/site.toml')).not.toContain('imported');
    expect((await stat(inCity('rigs/imported'))).isDirectory()).toBe(true);
    expect(await kinds('imported')).toEqual(expect.arrayContaining(['rig.deleted', 'patch.deleted']));
    for (const [method, at] of [
      ['DELETE', target],
      ['PATCH', target],
      ['POST', `${target}/suspend`],
    ] as const)
      expectRefusal(await a.send(method, at, method === 'PATCH' ? { suspended: true } : undefined), at, {
        status: 404,
        detail: 'not_found: rig imported not found',
      });
  });
});

describe('what cannot be a rig', () => {
  const rigs = `${city}/rigs`;
  it.each([
    [{ name: 'keyed' }, 409, 'conflict: rig "keyed" already exists or is being provisioned', ['body.code', 'body.name']],
    [{ name: 'x1', prefix: 'KE' }, 409, 'conflict: prefix "ke" belongs to rig "keyed"', ['body.prefix']],
    [{ name: 'x1', prefix: 'al' }, 409, 'conflict: prefix "al" belongs to the city', ['body.prefix']],
    [{ name: 'x1', prefix: '1a' }, 400, 'invalid: invalid prefix: …', undefined],
    [{ name: 'a/b' }, 400, 'invalid: invalid rig name: …', undefined],
    [{ name: '..' }, 400, 'invalid: invalid rig name: …', undefined],
    [{ name: 'true' }, 400, 'invalid: invalid rig name: …', undefined],
    [{ name: '*' }, 400, 'invalid: invalid rig name: …', undefined],
    [{ name: 'x1', request_id: '12345678' }, 400, 'invalid: invalid request_id: …', undefined],
    [{ name: 'x1', default_branch: '--upload-pack=x' }, 400, 'invalid: invalid default_branch: …', undefined],
    [{ name: 'x1', path: '/etc' }, 400, /^invalid: invalid rig path: rig path escapes the city root/, undefined],
    [{ name: 'x1', path: '../..' }, 400, /^invalid: invalid rig path: rig path escapes the city root/, undefined],
    [{ name: 'x1', path: '.' }, 400, /^invalid: invalid rig path: rig path escapes the city root/, undefined],
    [{ name: 'x1', path: '../beta' }, 400, 'invalid: invalid rig path: it lies in another city', undefined],
    [
      { name: 'x1', path: '.gc/cache/x' },
      400,
      'invalid: invalid rig path: it lies in a directory that belongs to something else',
      undefined,
    ],
    [{ name: 'x1', path: 'city.toml/x' }, 400, 'invalid: invalid rig path: a part of it is not a directory', undefined],
    [{ name: 'x1', path: 'out/x' }, 400, /^invalid: invalid rig path: rig path escapes the city root/, undefined],
    [{ name: 'x1', path: 'x'.repeat(300) }, 400, 'invalid: invalid rig path: a part of it is longer than 255 bytes', undefined],
    [{ name: 'x1', git_url: 'https://u:p@example.org/x' }, 400, /^invalid: invalid git_url: it names a user or a password/, undefined],
    [
      { name: 'x1', git_url: 'file:///etc' },
      400,
      /^invalid: invalid git_url: only https and ssh addresses are cloned; clone another repository to rigs\/<name>/,
      undefined,
    ],
    [{ name: 'x1', git_url: 'https://example.org/x//folder' }, 400, /^invalid: invalid git_url: it names a folder/, undefined],
    [{ name: 'x1', git_url: 'https://example.org/x', path: '/abs' }, 400, /^invalid: invalid rig path: a repository/, undefined],
    [{ name: 'x1', extra: 1 }, 422, 'validation_failed: …', ['body.extra']],
    [{ name: 'x\0' }, 422, 'validation_failed: …', ['body.name']],
  ])('%j', async (body, status, detail, fields) => {
    await symlink('/tmp', inCity('out')).catch(() => undefined);
    expectRefusal(await a.post(rigs, body), rigs, { status, detail, ...(fields === undefined ? {} : { fields }) });
    expect(await readdir(inCity('rigs'))).not.toContain('x1');
  });

  it('leaves no directory behind when the result cannot be used', async () => {
    const before = await file('city.toml');
    await writeFile(inCity('city.toml'), `${before}\n[[agent]]\nname = "x"\n`);
    expectRefusal(await a.post(rigs, { name: 'x2', path: 'new/deep/x2' }), rigs, {
      status: 409,
      detail: "conflict: the city's files cannot be used…",
    });
    expect(await readdir(inCity())).not.toContain('new');
    await writeFile(inCity('city.toml'), before);
    expect((await a.post(`${city}/config/reload`)).status).toBe(200);
  });
});

describe('two replicas', () => {
  it('give a name once and a prefix once', async () => {
    const named = await Promise.all([a, b, a, b].map((at) => at.post(`${city}/rigs`, { name: 'raced' })));
    expect(named.map((reply) => reply.status).sort()).toEqual([201, 409, 409, 409]);
    const prefixed = await Promise.all([a, b, a, b].map((at, n) => at.post(`${city}/rigs`, { name: `raced-${n}`, prefix: 'rcd' })));
    expect(prefixed.map((reply) => reply.status).sort()).toEqual([201, 409, 409, 409]);
    expect((await file('city.toml')).match(/"rcd"/g)).toHaveLength(1);
  });

  it('keep every rig of many that are made at once, and files and revision agree', async () => {
    const names = Array.from({ length: 8 }, (_, n) => `many-${n}`);
    const replies = await Promise.all(names.map((name, n) => insist(() => (n % 2 === 0 ? a : b).post(`${city}/rigs`, { name }))));
    expect(replies.map((reply) => reply.status)).toEqual(names.map(() => 201));
    const listed = (await a.get(`${city}/rigs`)).body.items.map((rig: { name: string }) => rig.name);
    expect(listed).toEqual(expect.arrayContaining(names));
    expect(new Set(replies.map((reply) => reply.body.prefix)).size).toBe(names.length);
    expect((await b.get(`${city}/config/diff`)).body.differences).toEqual([]);
  });

  it('end a delete against a create with one of the two', async () => {
    await made({ name: 'turned' });
    const [gone, again] = await Promise.all([a.delete(`${city}/rig/turned`), b.post(`${city}/rigs`, { name: 'turned' })]);
    expect(gone.status).toBe(200);
    const there = (await a.get(`${city}/rig/turned`)).status;
    expect([again.status, there]).toEqual(again.status === 201 ? [201, 200] : [409, 404]);
    expect((await file('city.toml')).includes('"turned"')).toBe(there === 200);
  });
});

describe('rigs that are cloned', () => {
  const clone = (body: object, at = a): Promise<Reply> => at.post(`${city}/rigs`, { git_url: git.url('shop'), ...body });

  it('end in one event after their progress, with the branch of the repository', async () => {
    const reply = await clone({ name: 'cloned' });
    expect(reply.body).toEqual({
      status: 'accepted',
      request_id: expect.stringMatching(/^req-[0-9a-f]{24}$/),
      event_cursor: expect.stringMatching(/^\d+$/),
    });
    const end = await ledger.ended(reply);
    expect(end).toMatchObject({ type: 'request.result.rig.create', subject: 'cloned' });
    expect(end.payload).toEqual({ request_id: reply.body.request_id, rig: 'cloned', prefix: 'cl', default_branch: 'trunk' });
    expect(await readFile(inCity('rigs/cloned/README.md'), 'utf8')).toBe('shop\n');
    expect(await kinds('cloned')).toEqual([
      'rig.provision.progress',
      'rig.provision.progress',
      'rig.provision.progress',
      'rig.created',
      'request.result.rig.create',
    ]);
    expect((await events('cloned')).flatMap((event) => event.payload.step ?? [])).toEqual(['clone', 'git-detected', 'config']);
    expect((await b.get(`${city}/rig/cloned?git=true`)).body).toMatchObject({
      default_branch: 'trunk',
      git: { branch: 'trunk', clean: true, changed_files: 0, ahead: 0, behind: 0 },
    });
    expect(await readdir(inCity('.gc/cache/rigs'))).toEqual([]);
    expect(await readdir(inCity('rigs/cloned/.git'))).not.toContain('svc-provision');
  });

  it('are made once however often and wherever the same request comes', async () => {
    const body = { name: 'repeated', request_id: 'repeat-0001' };
    const replies = await Promise.all([a, b, a, b].map((at) => clone(body, at)));
    expect(replies.map((reply) => reply.status)).toEqual([202, 202, 202, 202]);
    expect(new Set(replies.map((reply) => JSON.stringify(reply.body))).size).toBe(1);
    expect(replies[0]!.body.request_id).toBe('repeat-0001');
    await ledger.ended(replies[0]!);
    const later = await clone(body, b);
    expect([later.status, later.body]).toEqual([
      200,
      { status: 'exists', rig: 'repeated', prefix: 're', default_branch: 'trunk', request_id: 'repeat-0001' },
    ]);
    const other = await clone({ ...body, prefix: 'other' });
    expectRefusal(other, `${city}/rigs`, {
      status: 409,
      detail: 'conflict: request_id "repeat-0001" reused with a different request body',
      fields: ['body.code', 'body.request_id'],
    });
    expect(other.body.errors).toContainEqual({ location: 'body.code', message: 'request_id_conflict', value: 'request_id_conflict' });
    // The rig is gone: the same request makes it again, in a place that is free.
    await a.delete(`${city}/rig/repeated`);
    expect((await clone(body)).status).toBe(202);
    const ends = async (): Promise<Told[]> => (await events('repeated')).filter((event) => event.type.startsWith('request.'));
    await eventually(async () => (await ends()).length === 2);
    expect((await ends())[1]).toMatchObject({
      type: 'request.failed',
      payload: { error_code: 'already_exists', request_id: 'repeat-0001' },
    });
    expect((await stat(inCity('rigs/repeated/README.md'))).isFile()).toBe(true);
  });

  it('hold their name and say who has it', async () => {
    const held = await clone({ name: 'held', git_url: git.url('hang'), request_id: 'hold-0001' });
    expect(held.status).toBe(202);
    for (const body of [{ name: 'held' }, { name: 'held', git_url: git.url('shop') }]) {
      const reply = await b.post(`${city}/rigs`, body);
      expectRefusal(reply, `${city}/rigs`, {
        status: 409,
        detail: 'conflict: rig "held" already exists or is being provisioned',
        fields: ['body.code', 'body.event_cursor', 'body.in_flight_request_id', 'body.name'],
      });
      expect(reply.body.errors).toContainEqual({ location: 'body.in_flight_request_id', message: 'hold-0001', value: 'hold-0001' });
    }
    expect((await b.get(`${city}/rig/held`)).status).toBe(404);
  });

  it.each([
    ['nowhere', {}, 'clone_failed'],
    ['shop', { default_branch: 'no-such-branch' }, 'clone_failed'],
  ])('fail when git does: %s %j', async (repository, more, code) => {
    const end = await ledger.ended(await clone({ name: 'failing', path: 'deep/er/failing', git_url: git.url(repository), ...more }));
    expect(end).toMatchObject({ type: 'request.failed', subject: 'failing', payload: { operation: 'rig.create', error_code: code } });
    expect(await readdir(inCity())).not.toContain('deep');
    expect((await a.get(`${city}/rig/failing`)).status).toBe(404);
  });

  it.each(['https://127.0.0.1:9/x', 'https://localhost/x', 'http://93.184.215.14/x'])('never call %s', async (url) => {
    const end = await ledger.ended(await clone({ name: 'blocked', git_url: url }));
    expect(end).toMatchObject({ type: 'request.failed', payload: { error_code: 'blocked_host' } });
  });

  it('leave alone what was in their place before', async () => {
    await mkdir(inCity('rigs/full'), { recursive: true });
    await writeFile(inCity('rigs/full/mine'), 'mine');
    expect(await ledger.ended(await clone({ name: 'full' }))).toMatchObject({ payload: { error_code: 'already_exists' } });
    expect(await readdir(inCity('rigs/full'))).toEqual(['mine']);
    await mkdir(inCity('rigs/empty'), { recursive: true });
    expect(await ledger.ended(await clone({ name: 'empty' }))).toMatchObject({ type: 'request.result.rig.create' });
  });

  it('are taken back when the files of the city cannot take them in', async () => {
    await git.repository('bad', { 'README.md': 'read me' });
    await mkdir(inCity('rigs/bad'), { recursive: true });
    const before = await readFile(inCity('city.toml'), 'utf8');
    await writeFile(inCity('city.toml'), `${before}\nbroken = = 1\n`);
    const end = await ledger.ended(await clone({ name: 'bad', git_url: git.url('bad') }));
    await writeFile(inCity('city.toml'), before);
    expect(end).toMatchObject({ type: 'request.failed', payload: { error_code: 'provision_failed' } });
    expect(await readdir(inCity('rigs/bad'))).toEqual([]);
    await eventually(async () => (await readdir(inCity('.gc/cache/rigs'))).every((name) => !name.endsWith('.back')));
  });
});
