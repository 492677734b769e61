import { appendFile, mkdir, readFile, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { startStack, type Stack } from '../support/app.js';
import { api, insist, type Api, type Reply, type RequestHeaders } from '../support/http.js';
import { Ledger } from '../support/ledger.js';
import { expectRefusal } from '../support/refusal.js';

let stack: Stack;
let a: Api;
let b: Api;
let ledger: Ledger;

const CITY = '/v0/city/port';
const PATCHES = `${CITY}/patches`;
const SECRET = 'planted-3f9c';

beforeAll(async () => {
  stack = await startStack();
  [a, b] = stack.urls.map((url) => api(url)) as [Api, Api];
  ledger = await Ledger.open(stack);
  await ledger.succeeded(await a.post('/v0/city', { dir: 'port', provider: 'loopback' }), 'request.result.city.create');
  await mkdir(at('web'));
  await appendFile(at('.gc/site.toml'), '\n[[rig]]\nname = "web"\npath = "web"\n');
  await save(
    'city.toml',
    `include = ["site/more.toml"]\n${await file()}${CITY_TOML}`,
    '[[patches.rigs]]\nname = "web"\nsuspended = true\n',
  );
  expect(await a.post(`${CITY}/config/reload`)).toMatchObject({ status: 200 });
});
afterAll(async () => {
  await ledger?.stream.close();
  await stack?.stop();
});

const CITY_TOML = `
# The one rig.
[[rigs]]
name = "web"

[[patches.agent]] # by hand
name = "mayor"
nudge = "Look at the queue." # stays
drain_timeout = "3m"
wake_mode = "fresh"
description = "Runs the place"
env = { TOKEN = "${SECRET}" }
`;
const at = (path: string): string => join(stack.citiesRoot, 'port', path);
const file = (path = 'city.toml'): Promise<string> => readFile(at(path), 'utf8');

/** Both files at once, as an editor saves them. */
async function save(path: string, text: string, fragment: string): Promise<void> {
  await mkdir(at('site'), { recursive: true });
  await writeFile(at('site/more.toml'), fragment);
  await writeFile(at('saved.tmp'), text);
  await rename(at('saved.tmp'), at(path));
}

const put = (on: Api, kind: string, body: unknown, headers: RequestHeaders = {}): Promise<Reply> =>
  on.send('PUT', `${PATCHES}/${kind}`, body, headers);
/** The effective definition, as far as it is written there. */
const composed = async (on: Api): Promise<any> => (await on.get(`${CITY}/config/composed`)).body.config;
const agent = async (on: Api, name: string): Promise<any> =>
  (await composed(on)).agents.find((each: { qualified_name: string }) => each.qualified_name === name);

describe('patches of agents', () => {
  it('are listed as the files say them, with every member', async () => {
    const { status, body, headers } = await b.get(`${PATCHES}/agents`);
    expect({ status, total: body.total }).toEqual({ status: 200, total: 1 });
    expect(headers.get('etag')).toMatch(/^"\d+"$/);
    expect(body.items[0]).toMatchObject({
      Dir: '',
      Name: 'mayor',
      Nudge: 'Look at the queue.',
      WakeMode: 'fresh',
      Env: { TOKEN: '********' },
      Suspended: null,
      Args: null,
      OptionDefaults: {},
      Pool: { Min: null, Max: null, Check: null, DrainTimeout: '3m', OnDeath: null, OnBoot: null },
      Other: { description: 'Runs the place' },
    });
    expect((await b.get(`${PATCHES}/agent/mayor`)).body).toEqual(body.items[0]);
  });

  it('take effect on every replica, and leave what a request cannot say', async () => {
    const reply = await put(a, 'agents', { name: 'mayor', suspended: true, work_dir: 'desk', env: { TOKEN: '********', TEAM: 'north' } });
    expect(reply).toMatchObject({ status: 200, body: { status: 'ok', agent_patch: 'mayor' } });
    const read = await b.get(`${PATCHES}/agent/mayor`);
    expect(read.headers.get('etag')).toBe(reply.headers.get('etag'));
    expect(read.body).toMatchObject({ Suspended: true, WorkDir: 'desk', WakeMode: 'fresh', Nudge: 'Look at the queue.' });
    expect(await agent(b, 'mayor')).toMatchObject({ suspended: true, work_dir: 'desk', wake_mode: 'fresh', env: { TEAM: '********' } });
    const text = await file();
    expect(text).toContain(`TOKEN = "${SECRET}"`);
    expect(text).toContain('nudge = "Look at the queue." # stays');
    expect(text).toContain('# The one rig.');
    const events = await b.get(`${CITY}/events?type=patch.set`);
    expect(events.body.items[0]).toMatchObject({
      subject: 'mayor',
      payload: { kind: 'agent', target: 'mayor', changed: expect.arrayContaining(['suspended', 'work_dir', 'env.TEAM']) },
    });
  });

  it('are replaced as far as a request can say them: what is absent or null is gone', async () => {
    await put(b, 'agents', { name: 'mayor', suspended: false, work_dir: null });
    const { body } = await a.get(`${PATCHES}/agent/mayor`);
    expect(body).toMatchObject({ Suspended: false, WorkDir: null, Env: {}, WakeMode: 'fresh', Nudge: 'Look at the queue.' });
    expect(await file()).not.toContain(SECRET);
  });

  it('change nothing when they say the same again', async () => {
    const before = await file();
    const first = await put(a, 'agents', { name: 'mayor', suspended: false });
    const again = await put(b, 'agents', { name: 'mayor', suspended: false });
    expect(again.headers.get('etag')).toBe(first.headers.get('etag'));
    expect(await file()).toBe(before);
  });

  it('are found by rig and name, and by the whole name', async () => {
    expect(await put(a, 'agents', { dir: 'web', name: 'core.worker', suspended: true })).toMatchObject({
      status: 200,
      body: { agent_patch: 'web/core.worker' },
    });
    const one = await b.get(`${PATCHES}/agent/web/core.worker`);
    expect(one.body).toMatchObject({ Dir: 'web', Name: 'core.worker', Suspended: true });
    expect((await b.get(`${PATCHES}/agent/web%2Fcore.worker`)).body).toEqual(one.body);
    expect(await put(b, 'agents', { name: 'web/core.worker', suspended: false })).toMatchObject({ status: 200 });
    expect((await a.get(`${PATCHES}/agents`)).body.total).toBe(2);
    expect((await agent(b, 'core.worker')).suspended).not.toBe(true);
    expectRefusal(await a.get(`${PATCHES}/agent/core.worker`), `${PATCHES}/agent/core.worker`, {
      status: 404,
      detail: 'not_found: agent patch core.worker not found',
    });
    expect(await b.delete(`${PATCHES}/agent/web/core.worker`)).toMatchObject({
      status: 200,
      body: { status: 'deleted', agent_patch: 'web/core.worker' },
    });
    expect((await a.get(`${PATCHES}/agent/web/core.worker`)).status).toBe(404);
  });

  it('are refused, and then nothing changes', async () => {
    const before = await file();
    const etag = (await a.get(`${CITY}/config`)).headers.get('etag');
    const path = `${PATCHES}/agents`;
    const refused = async (body: unknown, status: number, detail: string | RegExp): Promise<void> =>
      expectRefusal(await put(a, 'agents', body), path, { status, detail });
    await refused({}, 400, 'invalid: name is required');
    await refused({ name: '' }, 400, 'invalid: name is required');
    await refused({ name: 'nobody', suspended: true }, 404, 'not_found: agent nobody not found');
    await refused({ dir: 'web', name: 'mayor' }, 404, 'not_found: agent web/mayor not found');
    await refused({ name: 'mayor', scope: 'moon' }, 422, /scope/);
    await refused({ name: 'mayor', provider: 'nothing' }, 422, /provider/);
    await refused({ name: 'mayor', env: { NEW: '********' } }, 422, /masked/);
    await refused({ name: 'mayor', other: 1 }, 422, 'validation_failed: validation failed');
    await refused({ name: 'mayor', work_dir: 'a\u0000b' }, 422, 'validation_failed: validation failed');
    await refused('{"name":"mayor","env":{"__proto__":"x"}}', 422, 'validation_failed: validation failed');
    expectRefusal(await put(a, 'agents', { name: 'mayor' }, { 'if-match': '"1"' }), path, { status: 412, detail: /^revision_mismatch: / });
    expectRefusal(await a.delete(`${PATCHES}/agent/nobody`), `${PATCHES}/agent/nobody`, {
      status: 404,
      detail: 'not_found: agent patch nobody not found',
    });
    expect((await b.get(`${CITY}/config`)).headers.get('etag')).toBe(etag);
    expect(await file()).toBe(before);
  });
});

describe('patches of rigs', () => {
  it('change where they were written', async () => {
    expect((await a.get(`${PATCHES}/rig/web`)).body).toMatchObject({
      Name: 'web',
      Suspended: true,
      SuspendedOnStart: true,
      FormulaVars: {},
    });
    const etag = (await a.get(`${PATCHES}/rigs`)).headers.get('etag')!;
    const reply = await put(b, 'rigs', { name: 'web', suspended: false, default_branch: 'trunk' }, { 'if-match': etag });
    expect(reply).toMatchObject({ status: 200, body: { status: 'ok', rig_patch: 'web' } });
    expect(await file('site/more.toml')).toBe('[[patches.rigs]]\nname = "web"\ndefault_branch = "trunk"\nsuspended_on_start = false\n');
    expect((await a.get(`${PATCHES}/rigs`)).body).toMatchObject({
      total: 1,
      items: [{ Suspended: false, DefaultBranch: 'trunk', Prefix: null }],
    });
    expect((await composed(a)).rigs[0]).toMatchObject({ default_branch: 'trunk', suspended_on_start: false });
    expect(await a.delete(`${PATCHES}/rig/web`)).toMatchObject({ status: 200, body: { status: 'deleted', rig_patch: 'web' } });
    expect((await b.get(`${PATCHES}/rigs`)).body).toEqual({ items: [], total: 0 });
    expect(await file('site/more.toml')).not.toContain('patches');
  });

  it('are refused without a rig', async () => {
    expectRefusal(await put(a, 'rigs', { name: 'far' }), `${PATCHES}/rigs`, { status: 404, detail: 'not_found: rig far not found' });
    expectRefusal(await put(a, 'rigs', { name: 'web', prefix: '1' }), `${PATCHES}/rigs`, { status: 422, detail: /prefix/ });
    for (const method of ['GET', 'DELETE'])
      expectRefusal(await b.send(method, `${PATCHES}/rig/far`), `${PATCHES}/rig/far`, {
        status: 404,
        detail: 'not_found: rig patch far not found',
      });
  });
});

describe('a change of what patches change', () => {
  // Guard: what is answered as updated counts.
  it('counts for a rig, whatever the patch has said of it', async () => {
    const patch = { name: 'web', prefix: 'pw', default_branch: 'patched', suspended: true, path: 'elsewhere' };
    expect(await put(a, 'rigs', patch)).toMatchObject({ status: 200 });
    const rig = async (): Promise<any> => (await b.get(`${CITY}/rig/web`)).body;
    const wanted = { prefix: 'cw', default_branch: 'changed', suspended: false };
    for (const [key, value] of Object.entries(wanted)) {
      expect(await a.patch(`${CITY}/rig/web`, { [key]: value })).toMatchObject({ status: 200, body: { status: 'updated' } });
      expect(await rig()).toMatchObject({ [key === 'suspended' ? 'suspended_declared' : key]: value });
    }
    expect(await a.patch(`${CITY}/rig/web`, { path: 'web' })).toMatchObject({ status: 200, body: { status: 'updated' } });
    expect(await rig()).toMatchObject({ path: 'web', prefix: 'cw' });
    expect((await a.get(`${PATCHES}/rig/web`)).status).toBe(404);
  });

  // Guard: what is answered as updated counts.
  it('counts for a provider, whatever the patch has said of it', async () => {
    const said = { command: 'patched', args: ['-p'], acp_command: 'ap', acp_args: ['-ap'], prompt_mode: 'flag', prompt_flag: '-p' };
    expect(await put(a, 'providers', { name: 'loopback', ...said, ready_delay_ms: 7, env: { KEY: SECRET, KEPT: SECRET } })).toMatchObject({
      status: 200,
    });
    const changes = {
      ...{
        command: 'changed',
        args: ['-c'],
        acp_command: 'ac',
        acp_args: ['-ac'],
        prompt_mode: 'arg',
        prompt_flag: '-c',
        ready_delay_ms: 9,
      },
    };
    for (const [key, value] of Object.entries(changes)) {
      expect(await a.patch(`${CITY}/provider/loopback`, { [key]: value })).toMatchObject({ status: 200, body: { status: 'updated' } });
      expect((await b.get(`${CITY}/provider/loopback`)).body).toMatchObject({ [key]: value });
    }
    // What is sent back as it was read stays what it is.
    const env = { KEY: '********', NEW: 'n' };
    expect(await a.patch(`${CITY}/provider/loopback`, { env })).toMatchObject({ status: 200 });
    expect((await composed(b)).providers.loopback).toMatchObject({ ...changes });
    expect(await file()).toMatch(new RegExp(`KEY = "${SECRET}"`));
    expect((await b.get(`${PATCHES}/provider/loopback`)).body).toMatchObject({ Command: null, Env: { KEPT: '********' } });
    await a.delete(`${PATCHES}/provider/loopback`);
  });
});

describe('patches of providers', () => {
  it('are stored, read and taken away', async () => {
    const body = {
      name: 'loopback',
      command: 'other',
      args: ['-x'],
      ready_delay_ms: 5,
      accept_startup_dialogs: false,
      env: { KEY: SECRET },
    };
    expect(await put(a, 'providers', body)).toMatchObject({ status: 200, body: { status: 'ok', provider_patch: 'loopback' } });
    const stored = (await b.get(`${PATCHES}/provider/loopback`)).body;
    expect(stored).toMatchObject({
      Name: 'loopback',
      Command: 'other',
      Args: ['-x'],
      ReadyDelayMs: 5,
      AcceptStartupDialogs: false,
      Env: { KEY: '********' },
      Replace: false,
      Base: null,
      ACPArgs: null,
    });
    expect((await b.get(`${PATCHES}/providers`)).body).toEqual({ items: [stored], total: 1 });
    expect((await composed(b)).resolved_providers.loopback).toMatchObject({ command: 'other', args: ['-x'] });
    expect(await b.delete(`${PATCHES}/provider/loopback`)).toMatchObject({ body: { status: 'deleted', provider_patch: 'loopback' } });
    expect((await composed(a)).resolved_providers.loopback.command).not.toBe('other');
    expect((await a.get(`${PATCHES}/provider/loopback`)).status).toBe(404);
  });

  it('are refused for what the city does not define', async () => {
    const path = `${PATCHES}/providers`;
    expectRefusal(await put(a, 'providers', { name: 'nothing' }), path, { status: 404, detail: 'not_found: provider nothing not found' });
    expectRefusal(await put(a, 'providers', { name: 'codex', ready_delay_ms: 1 }), path, {
      status: 404,
      detail: 'not_found: provider codex not found in the city; add [providers.codex] with base = "builtin:codex"',
    });
    expectRefusal(await put(a, 'providers', { name: 'loopback', prompt_mode: 'shout' }), path, { status: 422, detail: /prompt_mode/ });
  });
});

it('of many at once over two replicas none is lost', async () => {
  const names = ['mayor', 'core.worker', 'loopback', 'web/core.worker', 'web/loopback'];
  const replies = await Promise.all(
    names.map((name, n) => insist(() => put(n % 2 === 0 ? a : b, 'agents', { name, tmux_alias: `t${n}` }))),
  );
  expect(replies.map((reply) => reply.status)).toEqual(names.map(() => 200));
  const { items } = (await b.get(`${PATCHES}/agents`)).body as { items: { Name: string; TmuxAlias: string }[] };
  expect(Object.fromEntries(items.map((item) => [item.Name, item.TmuxAlias]))).toEqual(
    Object.fromEntries(names.map((name, n) => [name, `t${n}`])),
  );
});
