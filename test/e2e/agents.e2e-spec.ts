import { mkdir, readdir, rename, rm, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { OF_DOCS } from '../support/crew.js';
import { CrewCity, namesIn } from '../support/crew-city.js';
import type { Api } from '../support/http.js';
import type { Refusal } from '../support/refusal.js';
import { eventually } from '../support/sse.js';

let crew: CrewCity;
let a: Api;
let b: Api;
beforeAll(async () => {
  crew = await CrewCity.open();
  ({ a, b } = crew);
});
afterAll(() => crew?.close());

describe('reading agents', () => {
  it('lists them in the order of the configuration, pools in place', async () => {
    const reply = await a.get(crew.path('agents'));
    expect(reply).toMatchObject({ status: 200 });
    expect(reply.body.total).toBe(namesIn(reply).length);
    expect(namesIn(reply)).toEqual(expect.arrayContaining(['mayor', 'clerk', 'desk.triager', 'web/lookout', 'docs/lookout', 'loopback']));
    const at = namesIn(reply).indexOf('web/polecat-1');
    expect(namesIn(reply).slice(at, at + 3)).toEqual(['web/polecat-1', 'web/polecat-2', 'web/polecat-3']);
    expect(namesIn(reply)).not.toContain('web/polecat');
    expect(reply.headers.get('etag')).toBeNull();
    expect(Number(reply.headers.get('x-svc-index'))).toBeGreaterThan(0);
  });

  it.each<[string, string[]]>([
    ['rig=docs', OF_DOCS],
    ['pool=web/polecat', ['web/polecat-1', 'web/polecat-2', 'web/polecat-3']],
    ['pool=mayor', []],
    ['rig=docs&pool=web/polecat', []],
    ['rig=nowhere', []],
    ['rig=docs&running=false&peek=true', OF_DOCS],
  ])('lists those of %s', async (query, expected) => {
    expect(namesIn(await b.get(crew.path(`agents?${query}`)))).toEqual(expected);
  });

  it('shows one that runs', async () => {
    expect(await a.post(crew.path('sessions'), { kind: 'agent', name: 'mayor' })).toMatchObject({ status: 202 });
    await eventually(async () => namesIn(await b.get(crew.path('agents?running=true'))).includes('mayor'));
    expect(namesIn(await b.get(crew.path('agents?running=false')))).not.toContain('mayor');
    await eventually(async () => (await a.get(crew.path('agents?peek=true&running=true'))).body.items[0]?.last_output !== undefined);
  });

  it('answers one by every name it has', async () => {
    const mayor = await a.get(crew.path('agent/mayor'));
    expect(mayor).toMatchObject({ status: 200 });
    expect(mayor.body).toEqual({
      name: 'mayor',
      running: true,
      suspended: false,
      suspended_declared: false,
      suspended_runtime: null,
      pack_derived: false,
      state: expect.stringMatching(/^(idle|working)$/),
      activity: expect.stringMatching(/^(idle|in-turn)$/),
      session: expect.objectContaining({ attached: false }),
      available: true,
      description: 'hidden',
      provider: 'loopback',
      display_name: expect.any(String),
    });
    const triager = { name: 'desk.triager', pack_derived: true, pack: 'front-desk', description: 'Sorts' };
    for (const name of ['desk.triager', 'triager']) expect((await b.get(crew.path(`agent/${name}`))).body).toMatchObject(triager);
    const member = { name: 'web/polecat-2', pool: 'web/polecat', rig: 'web' };
    for (const name of ['web/polecat-2', 'web%2Fpolecat-2']) expect((await a.get(crew.path(`agent/${name}`))).body).toMatchObject(member);
    expect((await a.get(crew.path('agent/polecat'))).body).toMatchObject({ name: 'web/polecat', rig: 'web' });
  });

  it.each(['nobody', 'web/mayor', 'web/polecat-4', 'lookout', '__proto__', 'constructor', '..%2F..'])('knows no %s', async (name) => {
    const reply = await a.get(crew.path(`agent/${name}`));
    expect(reply).toMatchObject({ status: 404, body: { code: 'agent-not-found', title: 'Agent Not Found' } });
  });

  it.each(['running=maybe', 'wait=soon', 'wait=-1s', 'index=x', 'color=red', 'peek=2'])('refuses %s', async (query) => {
    expect((await a.get(crew.path(`agents?${query}`))).status).toBe(422);
  });

  it('shows the bead that an agent works on', async () => {
    const { body } = await a.post(crew.path('beads'), { title: 'work' });
    await a.post(crew.path(`bead/${body.id}/claim`), { assignee: 'clerk' });
    expect((await b.get(crew.path('agent/clerk'))).body.active_bead).toBe(body.id);
    await a.post(crew.path(`bead/${body.id}/close`), {});
    expect((await b.get(crew.path('agent/clerk'))).body).not.toHaveProperty('active_bead');
  });

  it('waits for what comes next', async () => {
    const now = Number((await a.get(crew.path('agents?rig=docs'))).headers.get('x-svc-index'));
    expect((await a.get(crew.path(`agents?rig=docs&index=${now}&wait=1ms`))).status).toBe(200);
    const waiting = b.get(crew.path(`agents?rig=docs&index=${now}&wait=10m`));
    expect((await a.post(crew.path('agent/docs/lookout/suspend'))).status).toBe(200);
    const reply = await waiting;
    expect(Number(reply.headers.get('x-svc-index'))).toBeGreaterThan(now);
    expect((reply.body.items as object[]).at(-2)).toMatchObject({ name: 'docs/lookout', suspended: true });
    await a.post(crew.path('agent/docs/lookout/reset'));
  });
});

describe('creating agents', () => {
  const body = { name: 'scout', provider: 'loopback', description: 'Looks ahead', prompt: 'Look.\n', scope: 'city' };

  it('writes the folder and the revision, once for a key', async () => {
    const key = { 'Idempotency-Key': 'scout-1' };
    const reply = await a.post(crew.path('agents'), body, key);
    expect(reply).toMatchObject({ status: 201, body: { status: 'created', agent: 'scout' } });
    expect(reply.headers.get('location')).toBe(crew.path('agent/scout'));
    expect((await b.get(reply.headers.get('location')!)).body).toMatchObject({
      name: 'scout',
      description: 'Looks ahead',
      available: true,
    });
    const again = await b.post(crew.path('agents'), body, key);
    expect(again).toMatchObject({ status: 201, body: reply.body });
    expect(again.headers.get('location')).toBe(crew.path('agent/scout'));
    expect(await b.post(crew.path('agents'), { ...body, name: 'other' }, key)).toMatchObject({
      status: 422,
      body: { code: 'idempotency-mismatch' },
    });
    expect(await crew.text('agents/scout/prompt.template.md')).toBe('Look.\n');
    expect(await crew.text('agents/scout/agent.toml')).toBe('description = "Looks ahead"\nprovider = "loopback"\nscope = "city"\n');
    expect(await crew.events('agent.created', 'scout')).toMatchObject([
      { actor: 'api', payload: { agent: 'scout', changed: expect.arrayContaining(['provider']) } },
    ]);
  });

  it('writes a prompt of its own without one', async () => {
    expect((await b.post(crew.path('agents'), { name: 'plain', provider: 'loopback', prompt: ' ', dir: '', scope: '' })).status).toBe(201);
    expect(await crew.text('agents/plain/prompt.template.md')).toMatch(/^# plain\n/);
    expect(await crew.text('agents/plain/agent.toml')).toBe('provider = "loopback"\n');
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
    await crew.refuses('POST', 'agents', given, wanted);
  });

  it('refuses a folder that the city does not run yet', async () => {
    await mkdir(crew.file('agents/.hidden'), { recursive: true });
    await mkdir(crew.file('agents/early/notes'), { recursive: true });
    await crew.refuses('POST', 'agents', { ...body, name: 'early' }, { status: 409, detail: 'conflict: agent early exists already' });
    await rm(crew.file('agents/early'), { recursive: true });
    await rm(crew.file('agents/.hidden'), { recursive: true });
  });

  it('takes the place of what a provider brings', async () => {
    expect((await a.post(crew.path('agents'), { ...body, name: 'loopback' })).status).toBe(201);
    expect((await b.get(crew.path('agent/loopback'))).body).toMatchObject({ description: 'Looks ahead' });
    expect((await b.delete(crew.path('agent/loopback'))).status).toBe(200);
    expect((await b.get(crew.path('agent/loopback'))).body).not.toHaveProperty('description');
  });

  it('does not follow a folder of agents out of the city', async () => {
    const outside = join(crew.stack.citiesRoot, 'elsewhere');
    await rename(crew.file('agents'), outside);
    await symlink(outside, crew.file('agents'));
    const before = await readdir(outside);
    const reply = await a.post(crew.path('agents'), { ...body, name: 'lured' });
    expect(reply).toMatchObject({ status: 409, body: { code: 'conflict-wrong-state' } });
    expect(await readdir(outside)).toEqual(before);
    await rm(crew.file('agents'));
    await rename(outside, crew.file('agents'));
    await eventually(async () => (await b.get(crew.path('config'))).body.rejected === undefined);
  });

  it('writes nothing through a link for an agent', async () => {
    const outside = join(crew.stack.citiesRoot, 'outside');
    await mkdir(outside);
    await symlink(outside, crew.file('agents/lured'));
    await expect(a.post(crew.path('agents'), { ...body, name: 'lured' })).resolves.toMatchObject({ status: 409 });
    expect(await readdir(outside)).toEqual([]);
    await rm(crew.file('agents/lured'));
  });
});

describe('changing agents', () => {
  it('writes what is given into the folder’s file', async () => {
    await writeFile(crew.file('agents/mayor/agent.toml'), '# the mayor\nmax_active_sessions = 1 # one\nidle_timeout = "1h"\n');
    await a.post(crew.path('config/reload'));
    const before = await crew.revision();
    const change = { description: 'Rules', provider: '', suspended: true, idle_timeout: null, min_active_sessions: 1 };
    const reply = await b.patch(crew.path('agent/mayor'), change, { 'If-Match': `"${before}"` });
    expect(reply).toMatchObject({ status: 200, body: { status: 'updated' } });
    expect(reply.headers.get('etag')).toBe(`"${before + 1}"`);
    const written = await crew.text('agents/mayor/agent.toml');
    expect(written).toContain('# the mayor\nmax_active_sessions = 1 # one\n');
    expect(written).not.toContain('idle_timeout');
    // The patch that hid the description says the rest as before.
    expect(await crew.text('city.toml')).toContain('[[patches.agent]]\nname = "mayor"\nnudge = "Look around." # kept\n');
    expect(await crew.text('city.toml')).not.toContain('hidden');
    const suspended = { suspended: true, suspended_declared: true, suspended_runtime: null, state: 'suspended', description: 'Rules' };
    expect((await a.get(crew.path('agent/mayor'))).body).toMatchObject({
      ...suspended,
      available: false,
      unavailable_reason: 'agent is suspended',
    });
    expect(await crew.events('agent.updated', 'mayor')).not.toEqual([]);
    await b.patch(crew.path('agent/mayor'), { suspended: false });
  });

  it('keeps comments and order of a file that has several', async () => {
    const before = await crew.text('pack.toml');
    expect((await a.patch(crew.path('agent/clerk'), { description: 'Writes' })).status).toBe(200);
    expect((await a.patch(crew.path('agent/web/polecat'), { max_active_sessions: 2 })).status).toBe(200);
    expect((await b.patch(crew.path('agent/docs/lookout'), { description: 'Watches' })).status).toBe(200);
    const after = await crew.text('pack.toml');
    for (const line of before.split('\n').filter((each) => each.includes('#'))) expect(after).toContain(line);
    expect(namesIn(await b.get(crew.path('agents?pool=web/polecat')))).toEqual(['web/polecat-1', 'web/polecat-2']);
    for (const rig of ['docs', 'web'])
      expect((await a.get(crew.path(`agent/${rig}/lookout`))).body).toMatchObject({ description: 'Watches' });
  });

  it('lists a pool without end as far as lists go', async () => {
    await a.post(crew.path('agents'), { name: 'crowd', provider: 'loopback' });
    expect((await a.patch(crew.path('agent/crowd'), { max_active_sessions: 1_000_000 })).status).toBe(200);
    const { body } = await b.get(crew.path('agents?pool=crowd'));
    expect(body).toMatchObject({ total: 10_000, partial: true, partial_errors: ['there are more; the first 10000 are listed'] });
    expect((await b.get(crew.path('agent/crowd-1000000'))).status).toBe(200);
    expect((await b.get(crew.path('agent/crowd-1000001'))).status).toBe(404);
    expect((await a.delete(crew.path('agent/crowd'))).status).toBe(200);
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
    await crew.refuses('PATCH', rest, change, wanted);
  });

  it('refuses another revision', async () => {
    const stale = { 'If-Match': '"1"' };
    await crew.refuses('PATCH', 'agent/clerk', { suspended: true }, { status: 412, detail: /^revision_mismatch/ }, stale);
    await crew.refuses('DELETE', 'agent/scout', undefined, { status: 412, detail: /^revision_mismatch/ }, stale);
    await crew.refuses(
      'PATCH',
      'agent/clerk',
      { suspended: true },
      { status: 422, detail: /./, fields: ['header.If-Match'] },
      { 'If-Match': 'x' },
    );
  });

  it('does not bring back what an editor has just removed', async () => {
    const reply = await a.post(crew.path('agents'), { name: 'fleeting', provider: 'loopback' });
    expect(reply.status).toBe(201);
    const gone = rm(crew.file('agents/fleeting'), { recursive: true });
    await gone;
    const answers = [await a.patch(crew.path('agent/fleeting'), { suspended: true }), await b.delete(crew.path('agent/fleeting'))];
    // The city may have followed already.
    for (const { status } of answers) expect([404, 409]).toContain(status);
    expect(await readdir(crew.file('agents'))).not.toContain('fleeting');
  });
});

describe('removing agents', () => {
  it('takes the folder away with everything in it', async () => {
    await writeFile(crew.file('agents/scout/notes.txt'), 'x');
    expect(await a.delete(crew.path('agent/scout'))).toMatchObject({ status: 200, body: { status: 'deleted' } });
    expect((await b.get(crew.path('agent/scout'))).status).toBe(404);
    expect(await readdir(crew.file('agents'))).not.toContain('scout');
    expect(await crew.events('agent.deleted', 'scout')).toHaveLength(1);
  });

  it('takes the table out of a file', async () => {
    expect((await b.delete(crew.path('agent/clerk'))).status).toBe(200);
    expect(await crew.text('pack.toml')).not.toContain('clerk"');
    expect((await a.delete(crew.path('agent/web/lookout'))).status).toBe(200);
    for (const rig of ['web', 'docs']) expect((await b.get(crew.path(`agent/${rig}/lookout`))).status).toBe(404);
    expect((await b.get(crew.path('agent/web/polecat'))).status).toBe(200);
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
    await crew.refuses('DELETE', rest, undefined, wanted);
  });
});
