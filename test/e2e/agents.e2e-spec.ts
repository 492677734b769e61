import { mkdir, readdir, readFile, rename, rm, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { startStack, type Stack } from '../support/app.js';
import { createUntilTaken, OF_DOCS, writeCrew } from '../support/crew.js';
import { api, type Api, type Reply } from '../support/http.js';
import { Ledger } from '../support/ledger.js';
import { expectRefusal, type Refusal } from '../support/refusal.js';
import { eventually } from '../support/sse.js';

const CITY = 'crew';
let stack: Stack;
let a: Api;
let b: Api;
let ledger: Ledger;

const path = (rest: string): string => `/v0/city/${CITY}/${rest}`;
const file = (name: string): string => join(stack.citiesRoot, CITY, name);
const text = (name: string): Promise<string> => readFile(file(name), 'utf8');
const events = async (type: string, subject?: string): Promise<{ subject: string; actor: string; payload: object }[]> =>
  (await b.get(path(`events?after_seq=0&limit=1000&type=${type}${subject === undefined ? '' : `&subject=${subject}`}`))).body.items;
const names = (reply: Reply): string[] => (reply.body.items as { name: string }[]).map(({ name }) => name);
const revision = async (): Promise<number> => (await a.get(path('config'))).body.revision as number;

/** Refused, and neither the files nor the revision have moved. */
async function refused(method: string, rest: string, body: unknown, wanted: Refusal, headers = {}): Promise<void> {
  const before = [await revision(), await text('city.toml'), await text('pack.toml'), await readdir(file('agents'))];
  const reply = await a.send(method, path(rest), body, headers);
  expectRefusal(reply, path(rest), wanted);
  expect([await revision(), await text('city.toml'), await text('pack.toml'), await readdir(file('agents'))]).toEqual(before);
}

beforeAll(async () => {
  stack = await startStack();
  [a, b] = stack.urls.map((url) => api(url)) as [Api, Api];
  ledger = await Ledger.open(stack);
  await ledger.succeeded(await a.post('/v0/city', { dir: CITY, provider: 'loopback' }), 'request.result.city.create');
  await writeCrew(join(stack.citiesRoot, CITY));
  expect(await a.post(path('config/reload'))).toMatchObject({ status: 200 });
}, 60_000);
afterAll(async () => {
  await ledger?.stream.close();
  await stack?.stop();
}, 60_000);

describe('reading agents', () => {
  it('lists them in the order of the configuration, pools in place', async () => {
    const reply = await a.get(path('agents'));
    expect(reply).toMatchObject({ status: 200 });
    expect(reply.body.total).toBe(names(reply).length);
    expect(names(reply)).toEqual(expect.arrayContaining(['mayor', 'clerk', 'desk.triager', 'web/lookout', 'docs/lookout', 'loopback']));
    const at = names(reply).indexOf('web/polecat-1');
    expect(names(reply).slice(at, at + 3)).toEqual(['web/polecat-1', 'web/polecat-2', 'web/polecat-3']);
    expect(names(reply)).not.toContain('web/polecat');
    expect(reply.headers.get('etag')).toBeNull();
    expect(Number(reply.headers.get('x-svc-index'))).toBeGreaterThan(0);
  });

  it.each<[string, string[]]>([
    ['rig=docs', OF_DOCS],
    ['pool=web/polecat', ['web/polecat-1', 'web/polecat-2', 'web/polecat-3']],
    ['pool=mayor', []],
    ['rig=docs&pool=web/polecat', []],
    ['rig=nowhere', []],
    ['running=true', []],
    ['rig=docs&running=false&peek=true', OF_DOCS],
  ])('lists those of %s', async (query, expected) => {
    expect(names(await b.get(path(`agents?${query}`)))).toEqual(expected);
  });

  it('answers one by every name it has', async () => {
    const mayor = await a.get(path('agent/mayor'));
    expect(mayor).toMatchObject({ status: 200 });
    expect(mayor.body).toEqual({
      name: 'mayor',
      running: false,
      suspended: false,
      suspended_declared: false,
      suspended_runtime: null,
      pack_derived: false,
      state: 'stopped',
      available: true,
      description: 'hidden',
      provider: 'loopback',
      display_name: expect.any(String),
    });
    const triager = { name: 'desk.triager', pack_derived: true, pack: 'front-desk', description: 'Sorts' };
    for (const name of ['desk.triager', 'triager']) expect((await b.get(path(`agent/${name}`))).body).toMatchObject(triager);
    const member = { name: 'web/polecat-2', pool: 'web/polecat', rig: 'web' };
    for (const name of ['web/polecat-2', 'web%2Fpolecat-2']) expect((await a.get(path(`agent/${name}`))).body).toMatchObject(member);
    expect((await a.get(path('agent/polecat'))).body).toMatchObject({ name: 'web/polecat', rig: 'web' });
  });

  it.each(['nobody', 'web/mayor', 'web/polecat-4', 'lookout', '__proto__', 'constructor', '..%2F..'])('knows no %s', async (name) => {
    const reply = await a.get(path(`agent/${name}`));
    expect(reply).toMatchObject({ status: 404, body: { code: 'not_found', title: 'Agent Not Found' } });
  });

  it.each(['running=maybe', 'wait=soon', 'wait=-1s', 'index=x', 'color=red', 'peek=2'])('refuses %s', async (query) => {
    expect((await a.get(path(`agents?${query}`))).status).toBe(422);
  });

  it('shows the bead that an agent works on', async () => {
    const { body } = await a.post(path('beads'), { title: 'work' });
    await a.post(path(`bead/${body.id}/claim`), { assignee: 'clerk' });
    expect((await b.get(path('agent/clerk'))).body.active_bead).toBe(body.id);
    await a.post(path(`bead/${body.id}/close`), {});
    expect((await b.get(path('agent/clerk'))).body).not.toHaveProperty('active_bead');
  });

  it('waits for what comes next', async () => {
    const now = Number((await a.get(path('agents?rig=docs'))).headers.get('x-svc-index'));
    expect((await a.get(path(`agents?rig=docs&index=${now}&wait=1ms`))).status).toBe(200);
    const waiting = b.get(path(`agents?rig=docs&index=${now}&wait=10m`));
    expect((await a.post(path('agent/docs/lookout/suspend'))).status).toBe(200);
    const reply = await waiting;
    expect(Number(reply.headers.get('x-svc-index'))).toBeGreaterThan(now);
    expect((reply.body.items as object[]).at(-2)).toMatchObject({ name: 'docs/lookout', suspended: true });
    await a.post(path('agent/docs/lookout/reset'));
  });
});

describe('creating agents', () => {
  const body = { name: 'scout', provider: 'loopback', description: 'Looks ahead', prompt: 'Look.\n', scope: 'city' };

  it('writes the folder and the revision, once for a key', async () => {
    const key = { 'Idempotency-Key': 'scout-1' };
    const reply = await a.post(path('agents'), body, key);
    expect(reply).toMatchObject({ status: 201, body: { status: 'created', agent: 'scout' } });
    expect(reply.headers.get('location')).toBe(path('agent/scout'));
    expect((await b.get(reply.headers.get('location')!)).body).toMatchObject({
      name: 'scout',
      description: 'Looks ahead',
      available: true,
    });
    const again = await b.post(path('agents'), body, key);
    expect(again).toMatchObject({ status: 201, body: reply.body });
    expect(again.headers.get('location')).toBe(path('agent/scout'));
    expect(await b.post(path('agents'), { ...body, name: 'other' }, key)).toMatchObject({
      status: 422,
      body: { code: 'idempotency_mismatch' },
    });
    expect(await text('agents/scout/prompt.template.md')).toBe('Look.\n');
    expect(await text('agents/scout/agent.toml')).toBe('description = "Looks ahead"\nprovider = "loopback"\nscope = "city"\n');
    expect(await events('agent.created', 'scout')).toMatchObject([
      { actor: 'api', payload: { agent: 'scout', changed: expect.arrayContaining(['provider']) } },
    ]);
  });

  it('writes a prompt of its own without one', async () => {
    expect((await b.post(path('agents'), { name: 'plain', provider: 'loopback', prompt: ' ', dir: '', scope: '' })).status).toBe(201);
    expect(await text('agents/plain/prompt.template.md')).toMatch(/^# plain\n/);
    expect(await text('agents/plain/agent.toml')).toBe('provider = "loopback"\n');
  });

  it.each<[string, object, Refusal]>([
    ['a name that is taken', body, { status: 409, detail: 'conflict: agent scout exists already' }],
    ['the name of an inline agent', { ...body, name: 'clerk' }, { status: 409, detail: 'conflict: agent clerk exists already' }],
    ['the folder of an agent', { ...body, name: 'mayor' }, { status: 409, detail: 'conflict: agent mayor exists already' }],
    [
      'a rig',
      { ...body, name: 'x', dir: 'web' },
      { status: 400, detail: /^invalid: dir is not possible here: agents of rigs come from packs/ },
    ],
    ['the scope of rigs', { ...body, name: 'x', scope: 'rig' }, { status: 400, detail: /^invalid: scope rig is not possible here/ }],
    ['another scope', { ...body, name: 'x', scope: 'all' }, { status: 400, detail: 'invalid: scope must be city or rig' }],
    [
      'a provider that the city lacks',
      { ...body, name: 'x', provider: 'claude' },
      { status: 422, detail: 'validation_failed: validation failed', fields: ['body.provider'] },
    ],
    ['no name', { provider: 'loopback' }, { status: 422, detail: 'validation_failed: validation failed', fields: ['body.name'] }],
    ['no provider', { name: 'x' }, { status: 422, detail: 'validation_failed: validation failed', fields: ['body.provider'] }],
    [
      'a path for a name',
      { ...body, name: '../x' },
      { status: 422, detail: 'validation_failed: validation failed', fields: ['body.name'] },
    ],
    ['a hidden name', { ...body, name: '.x' }, { status: 422, detail: 'validation_failed: validation failed', fields: ['body.name'] }],
    [
      'a name without end',
      { ...body, name: 'x'.repeat(129) },
      { status: 422, detail: 'validation_failed: validation failed', fields: ['body.name'] },
    ],
    [
      'a prompt with NUL',
      { ...body, name: 'x', prompt: 'a\0b' },
      { status: 422, detail: 'validation_failed: validation failed', fields: ['body.prompt'] },
    ],
    [
      'half a character',
      { ...body, name: 'x', description: '\ud800' },
      { status: 422, detail: 'validation_failed: validation failed', fields: ['body.description'] },
    ],
    [
      'a prompt that is too long',
      { ...body, name: 'x', prompt: 'é'.repeat(131_073) },
      { status: 422, detail: 'validation_failed: validation failed', fields: ['body.prompt'] },
    ],
    ['a member that nobody knows', { ...body, name: 'x', model: 'y' }, { status: 422, detail: 'validation_failed: validation failed' }],
  ])('refuses %s', async (_, given, wanted) => {
    await refused('POST', 'agents', given, wanted);
  });

  it('refuses a folder that the city does not run yet', async () => {
    await mkdir(file('agents/.hidden'), { recursive: true });
    await mkdir(file('agents/early/notes'), { recursive: true });
    await refused('POST', 'agents', { ...body, name: 'early' }, { status: 409, detail: 'conflict: agent early exists already' });
    await rm(file('agents/early'), { recursive: true });
    await rm(file('agents/.hidden'), { recursive: true });
  });

  it('takes the place of what a provider brings', async () => {
    expect((await a.post(path('agents'), { ...body, name: 'loopback' })).status).toBe(201);
    expect((await b.get(path('agent/loopback'))).body).toMatchObject({ description: 'Looks ahead' });
    expect((await b.delete(path('agent/loopback'))).status).toBe(200);
    expect((await b.get(path('agent/loopback'))).body).not.toHaveProperty('description');
  });

  it('does not follow a folder of agents out of the city', async () => {
    const outside = join(stack.citiesRoot, 'elsewhere');
    await rename(file('agents'), outside);
    await symlink(outside, file('agents'));
    const before = await readdir(outside);
    const reply = await a.post(path('agents'), { ...body, name: 'lured' });
    expect(reply).toMatchObject({ status: 409, body: { code: 'conflict' } });
    expect(await readdir(outside)).toEqual(before);
    await rm(file('agents'));
    await rename(outside, file('agents'));
    await eventually(async () => (await b.get(path('config'))).body.rejected === undefined);
  });

  it('writes nothing through a link for an agent', async () => {
    const outside = join(stack.citiesRoot, 'outside');
    await mkdir(outside);
    await symlink(outside, file('agents/lured'));
    await expect(a.post(path('agents'), { ...body, name: 'lured' })).resolves.toMatchObject({ status: 409 });
    expect(await readdir(outside)).toEqual([]);
    await rm(file('agents/lured'));
  });
});

describe('changing agents', () => {
  it('writes what is given into the folder’s file', async () => {
    await writeFile(file('agents/mayor/agent.toml'), '# the mayor\nmax_active_sessions = 1 # one\nidle_timeout = "1h"\n');
    await a.post(path('config/reload'));
    const before = await revision();
    const change = { description: 'Rules', provider: '', suspended: true, idle_timeout: null, min_active_sessions: 1 };
    const reply = await b.patch(path('agent/mayor'), change, { 'If-Match': `"${before}"` });
    expect(reply).toMatchObject({ status: 200, body: { status: 'updated' } });
    expect(reply.headers.get('etag')).toBe(`"${before + 1}"`);
    const written = await text('agents/mayor/agent.toml');
    expect(written).toContain('# the mayor\nmax_active_sessions = 1 # one\n');
    expect(written).not.toContain('idle_timeout');
    // The patch that hid the description says the rest as before.
    expect(await text('city.toml')).toContain('[[patches.agent]]\nname = "mayor"\nnudge = "Look around." # kept\n');
    expect(await text('city.toml')).not.toContain('hidden');
    const suspended = { suspended: true, suspended_declared: true, suspended_runtime: null, state: 'suspended', description: 'Rules' };
    expect((await a.get(path('agent/mayor'))).body).toMatchObject({
      ...suspended,
      available: false,
      unavailable_reason: 'agent is suspended',
    });
    expect(await events('agent.updated', 'mayor')).not.toEqual([]);
    await b.patch(path('agent/mayor'), { suspended: false });
  });

  it('keeps comments and order of a file that has several', async () => {
    const before = await text('pack.toml');
    expect((await a.patch(path('agent/clerk'), { description: 'Writes' })).status).toBe(200);
    expect((await a.patch(path('agent/web/polecat'), { max_active_sessions: 2 })).status).toBe(200);
    expect((await b.patch(path('agent/docs/lookout'), { description: 'Watches' })).status).toBe(200);
    const after = await text('pack.toml');
    for (const line of before.split('\n').filter((each) => each.includes('#'))) expect(after).toContain(line);
    expect(names(await b.get(path('agents?pool=web/polecat')))).toEqual(['web/polecat-1', 'web/polecat-2']);
    for (const rig of ['docs', 'web']) expect((await a.get(path(`agent/${rig}/lookout`))).body).toMatchObject({ description: 'Watches' });
  });

  it('lists a pool without end as far as lists go', async () => {
    await a.post(path('agents'), { name: 'crowd', provider: 'loopback' });
    expect((await a.patch(path('agent/crowd'), { max_active_sessions: 1_000_000 })).status).toBe(200);
    const { body } = await b.get(path('agents?pool=crowd'));
    expect(body).toMatchObject({ total: 10_000, partial: true, partial_errors: ['there are more; the first 10000 are listed'] });
    expect((await b.get(path('agent/crowd-1000000'))).status).toBe(200);
    expect((await b.get(path('agent/crowd-1000001'))).status).toBe(404);
    expect((await a.delete(path('agent/crowd'))).status).toBe(200);
  });

  const nothing = { status: 400, detail: 'invalid: no fields to update' };
  it.each<[string, string, object, Refusal]>([
    ['nothing', 'agent/clerk', {}, nothing],
    ['empty texts', 'agent/clerk', { provider: '', scope: '' }, nothing],
    ['nobody', 'agent/nobody', { suspended: true }, { status: 404, detail: 'not_found: agent nobody not found' }],
    ['nobody of a rig', 'agent/web/nobody', { suspended: true }, { status: 404, detail: 'not_found: agent web/nobody not found' }],
    [
      'an agent of a pack',
      'agent/desk.triager',
      { suspended: true },
      { status: 409, detail: /^conflict: agent desk.triager is pack-derived, from front-desk: .*patches/ },
    ],
    [
      'an agent of a provider',
      'agent/web/loopback',
      { suspended: true },
      { status: 409, detail: /^conflict: agent web\/loopback .* provider loopback: .*patches/ },
    ],
    [
      'a member',
      'agent/web/polecat-1',
      { suspended: true },
      { status: 409, detail: /^conflict: web\/polecat-1 is a member of the pool web\/polecat/ },
    ],
    [
      'a provider that is not there',
      'agent/clerk',
      { provider: 'claude' },
      { status: 422, detail: 'validation_failed: validation failed', fields: ['body.provider'] },
    ],
    ['a scope that is none', 'agent/clerk', { scope: 'all' }, { status: 400, detail: 'invalid: scope must be city or rig' }],
    ['a folder for rigs', 'agent/mayor', { scope: 'rig' }, { status: 400, detail: /^invalid: scope rig is not possible here/ }],
    [
      'more at least than at most',
      'agent/mayor',
      { min_active_sessions: 5 },
      { status: 422, detail: /^validation_failed: the result could not be used: .*min_active_sessions/ },
    ],
    [
      'a time that is none',
      'agent/clerk',
      { idle_timeout: 'soon' },
      { status: 422, detail: 'validation_failed: validation failed', fields: ['body.idle_timeout'] },
    ],
    [
      'less than no limit',
      'agent/clerk',
      { max_active_sessions: -2 },
      { status: 422, detail: 'validation_failed: validation failed', fields: ['body.max_active_sessions'] },
    ],
  ])('refuses %s', async (_, rest, change, wanted) => {
    await refused('PATCH', rest, change, wanted);
  });

  it('refuses another revision', async () => {
    const stale = { 'If-Match': '"1"' };
    await refused('PATCH', 'agent/clerk', { suspended: true }, { status: 412, detail: /^revision_mismatch/ }, stale);
    await refused('DELETE', 'agent/scout', undefined, { status: 412, detail: /^revision_mismatch/ }, stale);
    await refused(
      'PATCH',
      'agent/clerk',
      { suspended: true },
      { status: 422, detail: /./, fields: ['header.If-Match'] },
      { 'If-Match': 'x' },
    );
  });

  it('does not bring back what an editor has just removed', async () => {
    const reply = await a.post(path('agents'), { name: 'fleeting', provider: 'loopback' });
    expect(reply.status).toBe(201);
    const gone = rm(file('agents/fleeting'), { recursive: true });
    await gone;
    const answers = [await a.patch(path('agent/fleeting'), { suspended: true }), await b.delete(path('agent/fleeting'))];
    // The city may have followed already.
    for (const { status } of answers) expect([404, 409]).toContain(status);
    expect(await readdir(file('agents'))).not.toContain('fleeting');
  });
});

describe('removing agents', () => {
  it('takes the folder away with everything in it', async () => {
    await writeFile(file('agents/scout/notes.txt'), 'x');
    expect(await a.delete(path('agent/scout'))).toMatchObject({ status: 200, body: { status: 'deleted' } });
    expect((await b.get(path('agent/scout'))).status).toBe(404);
    expect(await readdir(file('agents'))).not.toContain('scout');
    expect(await events('agent.deleted', 'scout')).toHaveLength(1);
  });

  it('takes the table out of a file', async () => {
    expect((await b.delete(path('agent/clerk'))).status).toBe(200);
    expect(await text('pack.toml')).not.toContain('clerk"');
    expect((await a.delete(path('agent/web/lookout'))).status).toBe(200);
    for (const rig of ['web', 'docs']) expect((await b.get(path(`agent/${rig}/lookout`))).status).toBe(404);
    expect((await b.get(path('agent/web/polecat'))).status).toBe(200);
  });

  it.each<[string, string, Refusal]>([
    ['nobody', 'agent/nobody', { status: 404, detail: 'not_found: agent nobody not found' }],
    ['an agent of a pack', 'agent/desk.triager', { status: 409, detail: /^conflict: agent desk.triager is pack-derived/ }],
    ['an agent of a provider', 'agent/loopback', { status: 409, detail: /^conflict: agent loopback .* provider loopback/ }],
    [
      'who is named',
      'agent/mayor',
      { status: 409, detail: 'conflict: agent mayor is used by named session mayor, the patch of agent mayor' },
    ],
    ['where work goes', 'agent/web/polecat', { status: 409, detail: 'conflict: agent web/polecat is used by the sling target of rig web' }],
    ['a member', 'agent/web/polecat-1', { status: 409, detail: /^conflict: web\/polecat-1 is a member/ }],
  ])('refuses %s', async (_, rest, wanted) => {
    await refused('DELETE', rest, undefined, wanted);
  });
});

describe('suspending agents', () => {
  const look = async (name: string): Promise<unknown[]> => {
    const { body } = await b.get(path(`agent/${name}`));
    return [body.suspended, body.suspended_declared, body.suspended_runtime, body.state, body.available];
  };

  it('is a switch over what the files say, until it is reset', async () => {
    const before = await revision();
    expect(await a.post(path('agent/desk.triager/suspend'))).toMatchObject({ status: 200, body: { status: 'ok' } });
    expect(await look('desk.triager')).toEqual([true, false, true, 'suspended', false]);
    expect((await b.post(path('agent/triager/suspend'))).status).toBe(200);
    expect((await b.post(path('agent/desk.triager/resume'))).status).toBe(200);
    expect(await look('desk.triager')).toEqual([false, false, false, 'stopped', true]);
    expect((await b.post(path('agent/desk.triager/reset'))).status).toBe(200);
    expect((await a.post(path('agent/desk.triager/reset'))).status).toBe(200);
    expect(await look('desk.triager')).toEqual([false, false, null, 'stopped', true]);
    const subjects = async (type: string): Promise<number> => (await events(type, 'desk.triager')).length;
    expect([await subjects('agent.suspended'), await subjects('agent.resumed')]).toEqual([1, 2]);
    expect(await revision()).toBe(before);
  });

  it('wins over a declared value, and outlives changes of the files', async () => {
    await a.post(path('agent/web/polecat/resume'));
    expect((await a.patch(path('agent/web/polecat'), { suspended: true })).status).toBe(200);
    expect(await look('web/polecat')).toEqual([false, true, false, 'stopped', true]);
    expect(await look('web/polecat-1')).toEqual([false, true, false, 'stopped', true]);
    await b.post(path('agent/web/polecat/reset'));
    expect(await look('web/polecat-2')).toEqual([true, true, null, 'suspended', false]);
    expect(await events('agent.suspended', 'web/polecat')).toHaveLength(1);
  });

  it('of a rig is told too', async () => {
    const before = await text('city.toml');
    await writeFile(file('city.toml'), before.replace('name = "docs"\n', 'name = "docs"\nsuspended_on_start = true\n'));
    expect((await a.post(path('config/reload'))).status).toBe(200);
    const asleep = { suspended: false, available: false, unavailable_reason: 'rig docs is suspended' };
    expect((await b.get(path('agent/docs/core.worker-1'))).body).toMatchObject(asleep);
    expect((await b.get(path('agent/web/core.worker-1'))).body).toMatchObject({ available: true });
    await writeFile(file('city.toml'), before);
    expect((await a.post(path('config/reload'))).status).toBe(200);
  });

  it('is forgotten with the agent', async () => {
    const agent = { name: 'passing', provider: 'loopback' };
    await a.post(path('agents'), agent);
    await a.post(path('agent/passing/suspend'));
    await b.delete(path('agent/passing'));
    await a.post(path('agents'), agent);
    expect(await look('passing')).toEqual([false, false, null, 'stopped', true]);
  });

  it('of the city is told too', async () => {
    await a.patch(`/v0/city/${CITY}`, { suspended: true });
    expect((await b.get(path('agent/mayor'))).body).toMatchObject({
      suspended: false,
      available: false,
      unavailable_reason: 'city is suspended',
    });
    await a.patch(`/v0/city/${CITY}`, { suspended: false });
    expect((await b.get(path('agent/mayor'))).body).toMatchObject({ available: true });
  });

  it.each<[string, Refusal]>([
    ['agent/nobody/suspend', { status: 404, detail: 'not_found: agent nobody not found' }],
    ['agent/web/nobody/resume', { status: 404, detail: 'not_found: agent web/nobody not found' }],
    ['agent/mayor/dance', { status: 422, detail: 'validation_failed: validation failed', fields: ['path.action'] }],
    ['agent/web/polecat/stop', { status: 422, detail: 'validation_failed: validation failed', fields: ['path.action'] }],
    ['agent/web/polecat-1/suspend', { status: 409, detail: /^conflict: web\/polecat-1 is a member of the pool web\/polecat/ }],
  ])('refuses %s', async (rest, wanted) => {
    await refused('POST', rest, undefined, wanted);
  });
});

describe('two replicas at once', () => {
  it('give a name to one of those who want it', async () => {
    const replies = await Promise.all([a, b, a, b].map((at) => at.post(path('agents'), { name: 'wanted', provider: 'loopback' })));
    expect(replies.map(({ status }) => status).sort()).toEqual([201, 409, 409, 409]);
    expect(await events('agent.created', 'wanted')).toHaveLength(1);
  });

  it('suspend once', async () => {
    const replies = await Promise.all([a, b, a, b, a, b].map((at) => at.post(path('agent/wanted/suspend'))));
    expect(replies.map(({ status }) => status)).toEqual(replies.map(() => 200));
    expect(await events('agent.suspended', 'wanted')).toHaveLength(1);
  });

  it('lose none of twenty', async () => {
    const wanted = Array.from({ length: 20 }, (_, n) => `many-${n}`);
    const made = await Promise.all(wanted.map((name, n) => createUntilTaken([a, b][n % 2]!, CITY, name)));
    expect(made).toEqual(wanted.map(() => 201));
    expect(names(await b.get(path('agents')))).toEqual(expect.arrayContaining(wanted));
    expect(await readdir(file('agents'))).toEqual(expect.arrayContaining(wanted));
    expect((await a.get(path('config/diff'))).body).toMatchObject({ total: 0 });
    expect(await text('city.toml')).toContain('# the rigs of this city');
    expect((await events('agent.created')).filter(({ subject }) => subject.startsWith('many-'))).toHaveLength(20);
    await eventually(async () => (await b.get(path('config'))).body.rejected === undefined);
  }, 60_000);
});
