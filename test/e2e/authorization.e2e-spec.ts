import { symlink } from 'node:fs/promises';
import { Agent } from 'node:http';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { startStack, type Stack } from '../support/app.js';
import { makeAgents } from '../support/config-examples-agents.js';
import { contract, type DocumentedOperation, CLAIMS } from '../support/contract.js';
import { putKey, type KeyOptions } from '../support/callers.js';
import { api, type Api } from '../support/http.js';
import { expectRefusal } from '../support/refusal.js';
import { quiet } from '../support/session-examples.js';
import { shown, type Shown } from '../support/shown.js';
import { eventually, openStream } from '../support/sse.js';
import { watchState, type Witness } from '../support/unchanged.js';
import { fittingBody } from '../support/fitting-body.js';
import { makeWork, workPath, type WorkExamples } from '../support/work-examples.js';

/** Every operation times every kind of key: who may not comes to nothing, and no byte of a foreign city gets out. */
const { operations } = contract();
const isPublic = (o: DocumentedOperation): boolean => o.definition.security?.length === 0;
const GUARDED = operations.filter((o) => !isPublic(o));
/** What the front door asks a right for: what changes something, and reads that take from others what they give away. */
const MUTATIONS = GUARDED.filter((o) => o.method !== 'GET' || CLAIMS.has(o.id));
const target = (o: DocumentedOperation, city: string): string => workPath(o.path, city, examples, o.method);
const bodyOf = (o: DocumentedOperation): object | undefined => fittingBody(o, examples, BODIES);
const BODIES = { 'register-city': { dir: 'secret' } };
const SECRET = 'secret';
/** Is not registered any more; its files are there. As long as the other names, so that answers that repeat it are. */
const FORMER = 'former';
const ABSENT = 'absent';
const RIGHTS = ['operate', 'configure', 'commands'];
/** Each with one right and no more, for a city that is not there: what is asked of the right comes before what is looked for. */
const ONLY = [...RIGHTS, 'audit'];
/** What reads may need beside a key. */
const READING = ['read', 'audit', 'all-cities', 'administer'];
/** What the document says that a key needs. */
const needOf = ({ definition }: DocumentedOperation): string | undefined =>
  (definition.security as readonly { apiKey?: readonly string[] }[] | undefined)?.[0]?.apiKey?.[0];

let stack: Stack;
/** In the city that only some may see. */
let examples: WorkExamples;
let witness: Witness;
const keys = new Map<string, string>();
const connections = new Agent({ keepAlive: true, maxSockets: 16 });
const as = (key: string, replica = 0): Api => api(stack.urls[replica]!, { Authorization: `Bearer ${keys.get(key) ?? key}` }, connections);

async function key(name: string, options: KeyOptions): Promise<void> {
  keys.set(name, await putKey(stack.databaseUrl, name, options));
}

async function done(accepted: { status: number; body: { request_id: string } }): Promise<void> {
  expect(accepted.status).toBe(202);
  await eventually(async () => (await as('root').get(`/v0/events?payload_match=request_id%3D${accepted.body.request_id}`)).body.total > 0);
}

beforeAll(async () => {
  stack = await startStack({ config: { auth: 'keys' } });
  await key('root', { scope: 'write' });
  await key('reader', { scope: 'read' });
  for (const right of RIGHTS) await key(`all but ${right}`, { scope: 'read', rights: RIGHTS.filter((each) => each !== right) });
  for (const right of ONLY) await key(`only ${right}`, { scope: 'read', rights: [right], cities: ['nowhere'] });
  await key('mine', { scope: 'write', cities: ['mine'] });
  await key('mine-reader', { scope: 'read', cities: ['mine'] });
  await key('nothing', { scope: 'write', cities: ['nowhere'] });
  await key('spare', { scope: 'write', cities: ['mine', 'spare'] });
  const cities = [{ dir: 'mine' }, { dir: SECRET }, { dir: FORMER }, { dir: 'spare', name: 'hidden' }];
  for (const city of cities) await done(await as('root').post('/v0/city', { ...city, provider: 'loopback' }));
  await done(await as('root').post(`/v0/city/${FORMER}/unregister`));
  expect((await as('root').post('/v0/city/mine/rigs', { name: 'web' })).status).toBe(201);
  for (const step of ['stop', 'start']) await done(await as('root').post(`/v0/city/${SECRET}/${step}`));
  await as('root').post(`/v0/city/${SECRET}/events`, { type: 'note.taken', actor: 'x', payload: { text: 'classified' } });
  examples = await makeWork(as('root'), SECRET, stack.databaseUrl);
  await makeAgents(as('root'), SECRET, stack.citiesRoot);
  await Promise.all(['mine', SECRET, 'hidden'].map((city) => quiet(as('root'), city)));
  witness = await watchState(stack);
});
afterAll(async () => {
  connections.destroy();
  await witness.close();
  await stack.stop();
});

describe('without a good key', () => {
  it('only Host comes before the key; unknown paths and wrong methods tell nothing but that', async () => {
    expect((await api(stack.urls[0]!).get('/v0/cities', { Host: 'evil.com' })).status).toBe(421);
    expect((await api(stack.urls[0]!).get('/v0/nothing')).status).toBe(404);
    expect((await api(stack.urls[0]!).delete('/v0/cities')).status).toBe(405);
    expect((await as('root').post('/v0/city', '{', { 'X-SVC-Request': undefined })).body.code).toBe('csrf');
  });
});

describe('a key of scope read', () => {
  it('reads everything but keys and who did what', async () => {
    for (const operation of GUARDED.filter((o) => o.method === 'GET' && !o.path.endsWith('/stream'))) {
      const reply = await as('reader', 1).get(target(operation, SECRET));
      expect({ id: operation.id, status: reply.status }).toEqual({
        id: operation.id,
        status: ['read', 'all-cities'].includes(needOf(operation)!) ? 200 : 403,
      });
    }
  });
});

/** What a limited key is told must not depend on whether the thing it names is there: one answer, to the byte. */
describe('what a key may not see', () => {
  type Ask = (x: string) => readonly [method: string, path: string, body?: object];
  const provider = 'loopback';
  const site = (path: string): string => `[[rig]]\nname = "web"\npath = "${path}"\n`;
  const candidate = (file: string, content: string): object => ({ files: { [file]: content } });
  const pack = (source: string): string => `[pack]\nname = "mine"\nschema = 2\n[imports.p]\nsource = "${source}"\n`;
  const VALIDATE = '/v0/city/mine/config/validate';
  const patch = (path: string): object => ({ name: 'web', path });

  const NAMED: readonly (readonly [what: string, status: number, ask: Ask])[] = [
    ['a directory to make a city in', 403, (x) => ['POST', '/v0/city', { dir: x, provider }]],
    ['a directory to make a city in, under an own name', 403, (x) => ['POST', '/v0/city', { dir: x, name: 'spare', provider }]],
    ['a directory below', 403, (x) => ['POST', '/v0/city', { dir: `${x}/agents/mayor`, name: 'spare', provider }]],
    ['a file below', 403, (x) => ['POST', '/v0/city', { dir: `${x}/city.toml/y`, name: 'spare', provider }]],
    ['a directory in another spelling', 403, (x) => ['POST', '/v0/city', { dir: `./mine/../${x}/.`, name: 'spare', provider }]],
    ['an absolute directory', 403, (x) => ['POST', '/v0/city', { dir: join(stack.citiesRoot, x), name: 'spare', provider }]],
    ['a link to a directory', 403, (x) => ['POST', '/v0/city', { dir: `mine/to-${x}`, name: 'spare', provider }]],
    ['a name for a city', 403, (x) => ['POST', '/v0/city', { dir: 'mine', name: x, provider }]],
    ['a directory to register', 403, (x) => ['POST', '/v0/cities/register', { dir: x }]],
    ['a directory to register under an own name', 403, (x) => ['POST', '/v0/cities/register', { dir: x, name: 'spare' }]],
    ['a directory below to register', 403, (x) => ['POST', '/v0/cities/register', { dir: `${x}/agents`, name: 'spare' }]],
    ['a link to a directory to register', 403, (x) => ['POST', '/v0/cities/register', { dir: `mine/to-${x}`, name: 'spare' }]],
    ['a name to register under', 403, (x) => ['POST', '/v0/cities/register', { dir: 'mine', name: x }]],
    ['a city to unregister', 403, (x) => ['POST', `/v0/city/${x}/unregister`]],
    ['a city to stop', 404, (x) => ['POST', `/v0/city/${x}/stop`]],
    ['a directory for a rig', 403, (x) => ['POST', '/v0/city/mine/rigs', { name: 'r', path: `../${x}` }]],
    ['a directory below for a rig', 403, (x) => ['POST', '/v0/city/mine/rigs', { name: 'r', path: `../${x}/agents/mayor` }]],
    ['an absolute directory for a rig', 403, (x) => ['POST', '/v0/city/mine/rigs', { name: 'r', path: join(stack.citiesRoot, x) }]],
    ['a link to a directory for a rig', 403, (x) => ['POST', '/v0/city/mine/rigs', { name: 'r', path: `to-${x}` }]],
    ['a file through a link for a rig', 403, (x) => ['POST', '/v0/city/mine/rigs', { name: 'r', path: `to-${x}/city.toml/y` }]],
    ['a directory to clone to', 403, (x) => ['POST', '/v0/city/mine/rigs', { name: 'r', path: `../${x}`, git_url: 'https://h.example/r' }]],
    ['a directory to move a rig to', 403, (x) => ['PATCH', '/v0/city/mine/rig/web', { path: `../${x}/rigs/web` }]],
    ['a directory in a patch of a rig', 422, (x) => ['PUT', '/v0/city/mine/patches/rigs', patch(`../${x}`)]],
    ['a link in a patch of a rig', 422, (x) => ['PUT', '/v0/city/mine/patches/rigs', patch(`to-${x}/x`)]],
    ['an imported directory', 200, (x) => ['POST', VALIDATE, candidate('pack.toml', pack(`../${x}`))]],
    ['an imported directory below', 200, (x) => ['POST', VALIDATE, candidate('pack.toml', pack(`../${x}/packs/p`))]],
    ['an imported directory behind a link', 200, (x) => ['POST', VALIDATE, candidate('pack.toml', pack(`to-${x}`))]],
    ['an imported repository', 200, (x) => ['POST', VALIDATE, candidate('pack.toml', pack(`file://${join(stack.citiesRoot, x)}`))]],
    ['a binding of a rig that is only tried', 200, (x) => ['POST', VALIDATE, candidate('.gc/site.toml', site(`../${x}`))]],
    ['an event filter', 200, (x) => ['GET', `/v0/events?cities=${x}`]],
    ['the end of an operation', 200, (x) => ['GET', `/v0/events?payload_match=name%3D${x}`]],
    ['a position', 200, (x) => ['GET', `/v0/events?after_cursor=__supervisor__:0,${x}:1`]],
    ['a city of a new key', 403, (x) => ['POST', '/v0/keys', { name: 'more', cities: [x] }]],
  ];

  beforeAll(async () => {
    for (const x of [SECRET, FORMER, ABSENT]) await symlink(join(stack.citiesRoot, x), join(stack.citiesRoot, 'mine', `to-${x}`));
  });

  it.each(NAMED)('%s: %i, whether it is there, was there, or never was', async (_what, status, ask) => {
    const answers: Shown[] = [];
    await witness.unchangedBy(async () => {
      for (const x of [SECRET, FORMER, ABSENT]) answers.push(shown(await as('spare').send(...ask(x)), [x]));
    });
    const [there, was, never] = answers;
    expect({ there, was }).toEqual({ there: never, was: never });
    expect(never!.status).toBe(status);
    if (status === 403) expect(never!.text).toMatch(/only use names and directories of its own cities|keys are managed/);
  });

  it('an own name whose directory is another city: as any other directory', async () => {
    const bodies = [
      { dir: 'spare', provider },
      { dir: ABSENT, name: 'spare', provider },
      { dir: 'spare', name: SECRET, provider },
    ];
    const answers = [];
    for (const body of bodies) answers.push(shown(await witness.unchangedBy(() => as('spare').post('/v0/city', body)), []));
    for (const body of [{ dir: 'spare' }, { dir: ABSENT, name: 'spare' }])
      answers.push(shown(await witness.unchangedBy(() => as('spare').post('/v0/cities/register', body)), []));
    for (const answer of answers) expect(answer).toEqual(answers[1]);
  });
});

describe('a key of some rights', () => {
  it('finds said of every operation what a key needs for it', () => {
    const needs = new Map(GUARDED.map((o) => [o.id, { method: o.method, need: needOf(o) }]));
    const known = [...RIGHTS, 'administer'];
    for (const [id, { method, need }] of needs)
      expect({ id, known: (method === 'GET' && !CLAIMS.has(id) ? READING : known).includes(need!) }).toEqual({ id, known: true });
    expect(new Set([...needs.values()].map(({ need }) => need))).toEqual(new Set([...READING, ...known]));
  });

  it.each(RIGHTS)('changes nothing that needs %s without it', async (right) => {
    const operations = MUTATIONS.filter((o) => needOf(o) === right);
    expect(operations.length).toBeGreaterThan(3);
    await witness.unchangedBy(() =>
      Promise.all(
        operations.map(async (operation) => {
          const path = target(operation, 'mine');
          const reply = await as(`all but ${right}`).send(operation.method, path, bodyOf(operation));
          expectRefusal(reply, path, { status: 403, detail: `forbidden: the API key lacks the right "${right}"` });
        }),
      ),
    );
  });

  it.each(ONLY)('is let in with %s, and no more, where a key needs that', async (right) => {
    const judged = GUARDED.filter((o) => needOf(o) === right && !(o.method === 'GET' && o.path.endsWith('/stream') && !CLAIMS.has(o.id)));
    expect(judged.length).toBeGreaterThan(0);
    await witness.unchangedBy(() =>
      Promise.all(
        judged.map(async (operation) => {
          const reply = await as(`only ${right}`).send(operation.method, target(operation, 'mine'), bodyOf(operation));
          expect({ id: operation.id, detail: reply.body?.detail }).not.toMatchObject({
            detail: expect.stringMatching(/lacks the right|may not say/),
          });
        }),
      ),
    );
  });

  it.each(ONLY)('is told of what it lacks where a key needs another right than %s', async (right) => {
    const others = GUARDED.filter((o) => ONLY.includes(needOf(o)!) && needOf(o) !== right);
    expect(others.length).toBeGreaterThan(3);
    await Promise.all(
      others.map(async (operation) => {
        const path = target(operation, 'mine');
        const reply = await as(`only ${right}`).send(operation.method, path, bodyOf(operation));
        expectRefusal(reply, path, { status: 403, detail: `forbidden: the API key lacks the right "${needOf(operation)}"` });
      }),
    );
  });

  it('reads what is of all cities only where it is limited to none', async () => {
    const reads = GUARDED.filter((o) => o.method === 'GET' && !o.path.includes('{') && ['all-cities', 'administer'].includes(needOf(o)!));
    expect(reads.map(({ id }) => id).toSorted()).toEqual(['list-keys', 'list-runners']);
    for (const { path } of reads) {
      expect((await as('mine').get(path)).status).toBe(403);
      expect((await as('root').get(path)).status).toBe(200);
    }
  });

  it('may not say what is run, nor manage keys, without the right to', async () => {
    const says = MUTATIONS.flatMap((o) => (o.definition['x-commands'] ?? []).map((member) => ({ operation: o, member })));
    expect(says.map(({ member }) => member).toSorted()).toEqual(['env', 'network', 'start_command']);
    for (const { operation, member } of says) {
      const path = target(operation, 'mine');
      const body = { ...bodyOf(operation), [member]: 'sh' };
      const reply = await witness.unchangedBy(() => as('all but commands').send(operation.method, path, body));
      expectRefusal(reply, path, { status: 403, detail: /^forbidden: the API key may not say what is run/ });
    }
    // Also with a body that is not fit: nobody reads it.
    for (const name of ['reader', ...RIGHTS.map((right) => `all but ${right}`)])
      for (const body of [{ name: 'more' }, { nickname: 'more' }]) {
        const reply = await witness.unchangedBy(() => as(name).post('/v0/keys', body));
        expectRefusal(reply, '/v0/keys', { status: 403, detail: 'forbidden: …' });
      }
    // What it may, it may.
    expect((await as('all but commands').send('PUT', '/v0/city/mine/patches/agents', { name: 'nobody', suspended: true })).status).toBe(
      404,
    );
    expect((await as('all but configure').post('/v0/city/mine/beads', {})).status).toBe(422);
  });
});

describe('a key limited to another city', () => {
  it('may not make cities, register directories or manage keys', async () => {
    for (const [path, body] of [
      ['/v0/city', { dir: 'more', provider: 'loopback' }],
      ['/v0/city', { dir: 'more', name: SECRET, provider: 'loopback' }],
      ['/v0/cities/register', { dir: SECRET }],
      ['/v0/keys', { name: 'more' }],
    ] as const) {
      const reply = await witness.unchangedBy(() => as('mine').post(path, body));
      expect([403, 409]).toContain(reply.status);
      expect({ path, code: reply.body.code }).toEqual({ path, code: 'forbidden' });
    }
    expectRefusal(await as('mine').delete('/v0/keys/0123456789ab'), '/v0/keys/0123456789ab', { status: 403, detail: 'forbidden: …' });
  });

  it('learns nothing of other cities from lists, filters, positions and cursors', async () => {
    const full = (await as('root').get('/v0/events?limit=1')).body.event_cursor as string;
    const head = Number(new RegExp(`${SECRET}:(\\d+)`).exec(full)![1]);
    const supervisor = Number(/__supervisor__:(\d+)/.exec(full)![1]);
    const paths = [
      '/v0/cities',
      '/v0/events?limit=1000',
      `/v0/events?cities=${SECRET}`,
      `/v0/events?cities=mine,${SECRET}`,
      '/v0/events?type=request.result.city.create',
      `/v0/events?payload_match=name%3D${SECRET}`,
      '/v0/events?payload_match=text%3Dclassified',
      '/v0/events?after_cursor=__supervisor__:0',
      `/v0/events?after_cursor=__supervisor__:0,${SECRET}:0`,
      `/v0/events?after_cursor=__supervisor__:0,mine:0,${SECRET}:${head - 1}&limit=1`,
    ];
    for (const path of paths) {
      for (const name of ['mine', 'mine-reader', 'nothing']) {
        const reply = await as(name, 1).get(path);
        // What the key itself named may be in the path of a problem; nothing else of the city.
        expect({ path, name, status: reply.status, leaks: reply.status === 200 && reply.text.includes(SECRET) }).toEqual({
          path,
          name,
          status: 200,
          leaks: false,
        });
        expect(reply.text).not.toContain('classified');
      }
    }
    // A position beyond the head of a hidden city looks like one of a city that does not exist.
    for (const beyond of [`${SECRET}:${head + 1}`, `${SECRET}:${head}`, 'absent:5']) {
      const reply = await as('mine').get(`/v0/events?after_cursor=__supervisor__:${supervisor},${beyond}`);
      expect({ beyond, status: reply.status }).toEqual({ beyond, status: 200 });
    }
    const accepted = await as('mine').post('/v0/city/mine/stop');
    expect(accepted.status).toBe(202);
    expect(accepted.body.event_cursor).toMatch(/^__supervisor__:\d+,mine:\d+$/);
    await done(accepted as never);
    await done(await as('mine').post('/v0/city/mine/start'));
  });

  it('receives nothing of other cities on any stream, in frames, ids and refusals', async () => {
    const full = (await as('root').get('/v0/events?limit=1')).body.event_cursor as string;
    const head = Number(new RegExp(`${SECRET}:(\\d+)`).exec(full)![1]);
    const queries = [
      '',
      '?after_cursor=__supervisor__:0',
      `?after_cursor=__supervisor__:0,mine:0,${SECRET}:0`,
      `?cities=${SECRET}`,
      `?cities=mine,${SECRET}&after_cursor=__supervisor__:0,${SECRET}:0`,
      `?after_cursor=__supervisor__:0,mine:0,${SECRET}:${head + 1000}`,
    ];
    const headers = { Authorization: `Bearer ${keys.get('mine')}` };
    const streams = await Promise.all(queries.map((query, i) => openStream(`${stack.urls[i % 2]}/v0/events/stream${query}`, { headers })));
    for (const step of ['stop', 'start']) await done(await as('root').post(`/v0/city/${SECRET}/${step}`));
    await as('root').post(`/v0/city/${SECRET}/events`, { type: 'note.hidden', actor: 'x' });
    await as('root').post('/v0/city/mine/events', { type: 'note.shown', actor: 'x' });
    for (const [i, stream] of streams.entries()) {
      if (queries[i] === `?cities=${SECRET}`) await stream.untilAll((frames) => frames.length > 2);
      else await stream.until((f) => f.data?.type === 'note.shown');
      expect({ query: queries[i], status: stream.response.status }).toEqual({ query: queries[i], status: 200 });
      expect({ query: queries[i], leak: stream.frames.find((f) => JSON.stringify(f).includes(SECRET)) }).toEqual({
        query: queries[i],
        leak: undefined,
      });
      await stream.close();
    }
  });

  it('receives nothing of a city that has been unregistered, however old the position it names', async () => {
    const path = `/v0/events/stream?after_cursor=__supervisor__:0,mine:0,${SECRET}:0`;
    await done(await as('root').post(`/v0/city/${SECRET}/unregister`));
    const headers = { Authorization: `Bearer ${keys.get('mine')}` };
    for (const url of stack.urls) {
      const stream = await openStream(url + path, { headers });
      await as('root').post('/v0/city/mine/events', { type: 'note.last', actor: 'x' });
      await stream.until((f) => f.data?.type === 'note.last');
      expect(stream.frames.filter((f) => JSON.stringify(f).includes(SECRET))).toEqual([]);
      await stream.close();
      const listed = await as('mine').get(`/v0/events?after_cursor=__supervisor__:0,mine:0,${SECRET}:0`);
      expect({ status: listed.status, leaks: listed.text.includes(SECRET) }).toEqual({ status: 200, leaks: false });
    }
  });
});

it('public pages tell no city and no secret', async () => {
  for (const operation of operations.filter(isPublic)) {
    const reply = await api(stack.urls[0]!).get(operation.path);
    expect(reply.status).toBe(200);
    if (operation.id !== 'get-events-line-schema')
      expect({ id: operation.id, leaks: /\bmine\b|secret/.test(reply.text) }).toEqual({ id: operation.id, leaks: false });
  }
});

it('a directory is registered again by whoever may see the city that it was, and by nobody else', async () => {
  await done(await as('mine').post('/v0/city/mine/unregister'));
  await witness.settled();
  const refused = await witness.unchangedBy(() => as('nothing').post('/v0/cities/register', { dir: 'mine', name: 'nowhere' }));
  expect(refused.body.code).toBe('forbidden');
  // Named as a city of the key, and with the files of a city that it may not see.
  await done(await as('root').post('/v0/city/hidden/unregister'));
  await witness.settled();
  for (const body of [{ dir: 'spare' }, { dir: 'spare', name: 'mine' }])
    expect((await witness.unchangedBy(() => as('spare').post('/v0/cities/register', body))).body.code).toBe('forbidden');
  await done(await as('spare').post('/v0/cities/register', { dir: 'mine', name: 'spare' }));
  expect((await as('mine').get('/v0/city/spare')).status).toBe(404);
});
