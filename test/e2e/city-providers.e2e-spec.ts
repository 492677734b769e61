import { appendFile, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { startStack, type Stack } from '../support/app.js';
import { api, type Api, type Reply } from '../support/http.js';
import { Ledger } from '../support/ledger.js';

const CITY = 'providers-city';
const BUILTIN =
  'claude codex gemini grok kimi kiro cursor copilot amp opencode mimocode groq cerebras auggie pi omp antigravity loopback'.split(' ');

let stack: Stack;
let a: Api;
let b: Api;
let ledger: Ledger;

const path = (rest: string): string => `/v0/city/${CITY}/${rest}`;
const file = (name: string): string => join(stack.citiesRoot, CITY, name);
const named = (reply: Reply, name: string): Record<string, unknown> =>
  (reply.body.items as Record<string, unknown>[]).find((item) => item.name === name)!;
const events = async (type: string): Promise<Record<string, unknown>[]> =>
  (await b.get(path(`events?after_seq=0&limit=1000&type=${type}`))).body.items;
const reload = async (): Promise<void> => expect(await a.post(path('config/reload'))).toMatchObject({ status: 200 });

beforeAll(async () => {
  stack = await startStack();
  [a, b] = stack.urls.map((url) => api(url)) as [Api, Api];
  ledger = await Ledger.open(stack);
  await ledger.succeeded(await a.post('/v0/city', { dir: CITY, provider: 'loopback' }), 'request.result.city.create');
  await appendFile(file('city.toml'), '\n# kept whatever happens\n');
});
afterAll(async () => {
  await ledger?.stream.close();
  await stack?.stop();
});

describe('reading providers', () => {
  it('lists the builtin ones, and the city’s own first', async () => {
    const reply = await a.get(path('providers'));
    expect(reply).toMatchObject({ status: 200, body: { total: BUILTIN.length } });
    expect(reply.headers.get('x-svc-index')).toMatch(/^\d+$/);
    const names = (reply.body.items as { name: string }[]).map(({ name }) => name);
    expect(names).toEqual(['loopback', ...BUILTIN.filter((name) => name !== 'loopback')]);
    expect(named(reply, 'loopback')).toMatchObject({ builtin: true, city_level: true });
    expect(named(reply, 'claude')).toMatchObject({ builtin: true, city_level: false, command: 'claude' });
    expect(named(reply, 'opencode').env).toEqual({ OPENCODE_PERMISSION: '********' });
  });

  it('shows what there is to choose, inherited from bases', async () => {
    const reply = await b.get(path('providers/public'));
    expect(reply.status).toBe(200);
    expect(named(reply, 'loopback')).toMatchObject({ effective_defaults: { permission_mode: 'ask' } });
    expect(reply.text).not.toMatch(/flag_args|"command"|"env"/);
  });

  it('answers one, or that there is none', async () => {
    const reply = await b.get(path('provider/codex'));
    expect(reply).toMatchObject({ status: 200, body: { name: 'codex', builtin: true, city_level: false } });
    expect((await b.get(path('provider/codex'), { 'If-None-Match': reply.headers.get('etag')! })).status).toBe(304);
    for (const name of ['nobody', '__proto__', 'constructor'])
      expect(await b.get(path(`provider/${name}`))).toMatchObject({ status: 404, body: { code: 'provider-not-found' } });
  });
});

describe('defining providers', () => {
  const body = { name: 'team', base: 'builtin:claude', args_append: ['-v'], env: { TOKEN: 'secret' }, option_defaults: { effort: 'low' } };

  it('writes the file and the revision, once for a key', async () => {
    const key = { 'Idempotency-Key': 'team-1' };
    const reply = await a.post(path('providers'), body, key);
    expect(reply).toMatchObject({ status: 201, body: { status: 'created', provider: 'team' } });
    expect(await b.post(path('providers'), body, key)).toMatchObject({ status: 201, body: { status: 'created', provider: 'team' } });
    expect(await b.post(path('providers'), { ...body, command: 'x' }, key)).toMatchObject({
      status: 422,
      body: { code: 'idempotency-mismatch' },
    });
    const text = await readFile(file('city.toml'), 'utf8');
    expect(text).toContain('# kept whatever happens');
    expect(text.match(/providers\.team\]/g)).toHaveLength(1);
    const read = await b.get(path('provider/team'));
    expect(read.headers.get('etag')).toBe(reply.headers.get('etag'));
    expect(read.body).toMatchObject({
      base: 'builtin:claude',
      args_append: ['-v'],
      env: { TOKEN: '********' },
      builtin: false,
      city_level: true,
    });
    expect(named(await b.get(path('providers/public')), 'team')).toMatchObject({
      display_name: 'Claude Code',
      effective_defaults: { permission_mode: 'unrestricted', effort: 'low' },
    });
    expect(await events('provider.created')).toMatchObject([
      { subject: 'team', payload: { provider: 'team', changed: expect.arrayContaining(['base']) } },
    ]);
    expect(JSON.stringify(await events('provider.created'))).not.toContain('secret');
  });

  it('refuses what cannot be used, and leaves everything as it is', async () => {
    const before = await readFile(file('city.toml'), 'utf8');
    const refused = async (given: Record<string, unknown>): Promise<Reply> => a.post(path('providers'), given);
    expect(await refused({ name: 'bare' })).toMatchObject({ status: 400, body: { code: 'invalid-request' } });
    expect(await refused(body)).toMatchObject({ status: 409, body: { code: 'conflict-wrong-state' } });
    expect(await refused({ name: 'a b', command: 'x' })).toMatchObject({ status: 422, body: { errors: [{ location: 'body.name' }] } });
    expect(await refused({ name: 'x', command: 'x', extra: 1 })).toMatchObject({ status: 422 });
    expect(await refused({ name: 'x', command: 'nul\0' })).toMatchObject({ status: 422 });
    const unknown = await refused({ name: 'x', base: 'nope' });
    expect(unknown).toMatchObject({ status: 422 });
    expect(unknown.text).toContain('builtin:claude');
    const option = await refused({ name: 'x', base: 'builtin:claude', option_defaults: { effort: 'enormous' } });
    expect(option).toMatchObject({ status: 422 });
    expect(option.text).toContain('accepted: , low, medium, high, xhigh, max');
    expect(option.text).not.toContain('enormous');
    expect(await readFile(file('city.toml'), 'utf8')).toBe(before);
  });

  it('gives a name to one of two who want it at once', async () => {
    const replies = await Promise.all([a, b].map((at) => at.post(path('providers'), { name: 'wanted', command: 'w' })));
    expect(replies.map(({ status }) => status).sort()).toEqual([201, 409]);
  });
});

describe('changing providers', () => {
  it('merges maps, replaces lists and keeps the rest', async () => {
    const change = { args_append: ['-q'], env: { MORE: '2' }, args: null, display_name: 'Team' };
    expect(await b.patch(path('provider/team'), change)).toMatchObject({ status: 200, body: { status: 'updated' } });
    expect((await a.get(path('provider/team'))).body).toMatchObject({
      display_name: 'Team',
      args_append: ['-q'],
      env: { TOKEN: '********', MORE: '********' },
    });
    expect(await readFile(file('city.toml'), 'utf8')).toMatch(/TOKEN = "secret"[^]*MORE = "2"/);
  });

  it('happens only to the revision that was seen', async () => {
    const seen = (await a.get(path('provider/team'))).headers.get('etag')!;
    expect((await a.patch(path('provider/team'), { ready_delay_ms: 1 }, { 'If-Match': seen })).status).toBe(200);
    expect(await b.patch(path('provider/team'), { ready_delay_ms: 2 }, { 'If-Match': seen })).toMatchObject({ status: 412 });
    expect((await b.get(path('provider/team'))).body.ready_delay_ms).toBe(1);
  });

  it('is refused for builtin providers and those that are not there', async () => {
    expect(await a.patch(path('provider/codex'), { args: [] })).toMatchObject({
      status: 409,
      body: { detail: expect.stringContaining('builtin') },
    });
    expect(await a.delete(path('provider/codex'))).toMatchObject({ status: 409, body: { detail: expect.stringContaining('builtin') } });
    expect(await a.patch(path('provider/nobody'), { args: [] })).toMatchObject({ status: 404 });
    expect(await a.delete(path('provider/nobody'))).toMatchObject({ status: 404 });
  });

  it('goes into the file that counts', async () => {
    await appendFile(file('pack.toml'), '\n[providers.rooted]\ncommand = "r" # from the root pack\n');
    await writeFile(file('more.toml'), '[providers.loose]\ncommand = "l" # from a fragment\n');
    const city = await readFile(file('city.toml'), 'utf8');
    await writeFile(file('city.toml'), `include = ["more.toml"]\n${city}`);
    await reload();
    expect((await a.patch(path('provider/rooted'), { prompt_mode: 'none' })).status).toBe(200);
    expect((await a.patch(path('provider/loose'), { prompt_mode: 'none' })).status).toBe(200);
    expect(await readFile(file('pack.toml'), 'utf8')).toMatch(/command = "r" # from the root pack\nprompt_mode = "none"/);
    expect(await readFile(file('more.toml'), 'utf8')).toMatch(/command = "l" # from a fragment\nprompt_mode = "none"/);
    expect((await a.delete(path('provider/loose'))).status).toBe(200);
    expect(await readFile(file('more.toml'), 'utf8')).not.toContain('loose');
  });
});

describe('taking providers away', () => {
  it('names who still uses one', async () => {
    expect((await a.post(path('providers'), { name: 'child', base: 'provider:team' })).status).toBe(201);
    const reply = await b.delete(path('provider/team'));
    expect(reply).toMatchObject({ status: 409, body: { detail: 'conflict: provider team is used by provider child' } });
    const own = await b.delete(path('provider/loopback'));
    expect(own).toMatchObject({ status: 409, body: { detail: expect.stringContaining('workspace.provider') } });
  });

  it('takes one away everywhere', async () => {
    expect((await a.delete(path('provider/child'))).status).toBe(200);
    expect(await b.delete(path('provider/team'))).toMatchObject({ status: 200, body: { status: 'deleted' } });
    expect((await a.get(path('provider/team'))).status).toBe(404);
    const text = await readFile(file('city.toml'), 'utf8');
    expect(text).not.toContain('team');
    expect(text).toContain('# kept whatever happens');
    expect((await events('provider.deleted')).map(({ subject }) => subject)).toEqual(['loose', 'child', 'team']);
  });
});
