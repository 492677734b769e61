import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { startStack, type Stack } from '../support/app.js';
import { HoldingGate } from '../support/gate.js';
import { api, type Api, type Reply } from '../support/http.js';
import { Ledger } from '../support/ledger.js';
import { expectRefusal } from '../support/refusal.js';
import { eventually } from '../support/sse.js';
import { watchState, type Witness } from '../support/unchanged.js';

let stack: Stack;
let a: Api;
let b: Api;
let witness: Witness;

const BEADS = '/v0/city/alpha/beads';
const path = (id: string, rest = ''): string => `/v0/city/alpha/bead/${id}${rest}`;

beforeAll(async () => {
  stack = await startStack();
  [a, b] = stack.urls.map((url) => api(url)) as [Api, Api];
  const ledger = await Ledger.open(stack);
  const replies = await Promise.all(['alpha', 'counted'].map((dir) => a.post('/v0/city', { dir, provider: 'loopback' })));
  for (const reply of replies) await ledger.succeeded(reply, 'request.result.city.create');
  await ledger.stream.close();
  witness = await watchState(stack);
});
afterEach(() => {
  for (const failpoints of stack.failpoints) failpoints.disarm();
});
afterAll(async () => {
  await witness?.close();
  await stack?.stop();
});

async function create(body: object = {}, headers: Record<string, string> = {}): Promise<Reply> {
  const reply = await a.post(BEADS, { title: 'x', ...body }, headers);
  expect(reply.status).toBe(201);
  return reply;
}
const created = async (body: object = {}): Promise<string> => (await create(body)).body.id as string;
const events = async (id: string): Promise<string[]> =>
  ((await b.get('/v0/city/alpha/events?after_seq=0&limit=1000')).body.items as { type: string; subject: string }[])
    .filter((event) => event.subject === id)
    .map((event) => event.type);

describe('a bead', () => {
  it('is created with its place, its ETag and the position of its event', async () => {
    const reply = await create({ title: 'one', labels: ['l'], priority: 1 });
    const { id } = reply.body as { id: string };
    expect(reply.headers.get('location')).toBe(path(id));
    expect(reply.headers.get('etag')).toBe('"1"');
    const event = (await b.get(`/v0/city/alpha/events?after_seq=${Number(reply.headers.get('x-svc-index')) - 1}&limit=1`)).body.items[0];
    expect(event).toMatchObject({ type: 'bead.created', actor: 'api', subject: id, payload: { bead: reply.body } });
    const read = await b.get(path(id));
    expect(read.body).toEqual(reply.body);
    expect(Number(read.headers.get('x-svc-index'))).toBeGreaterThanOrEqual(event.seq);
  });

  it('is not sent again to a client that has it', async () => {
    const id = await created();
    const etag = (await a.get(path(id))).headers.get('etag')!;
    const unchanged = await b.get(path(id), { 'If-None-Match': `"9", W/${etag}` });
    expect({ status: unchanged.status, text: unchanged.text, etag: unchanged.headers.get('etag') }).toEqual({
      status: 304,
      text: '',
      etag,
    });
    await a.patch(path(id), { title: 'y' });
    expect(await b.get(path(id), { 'If-None-Match': etag })).toMatchObject({ status: 200, body: { title: 'y', revision: 2 } });
  });

  it.each(['patch', 'update'])('is changed by %s', async (how) => {
    const id = await created({ labels: ['a'] });
    const body = { title: 'new', labels: ['b'], remove_labels: ['a'], metadata: { k: 'v' }, priority: 4 };
    const reply = how === 'patch' ? await a.patch(path(id), body) : await a.post(path(id, '/update'), body);
    expect({ body: reply.body, etag: reply.headers.get('etag') }).toEqual({ body: { status: 'updated' }, etag: '"2"' });
    expect((await b.get(path(id))).body).toMatchObject({ title: 'new', labels: ['b'], metadata: { k: 'v' }, priority: 4 });
    expect((await a.patch(path(id), {})).headers.get('etag')).toBe('"2"');
    expect(await events(id)).toEqual(['bead.created', 'bead.updated']);
  });

  it('is assigned, closed, reopened and removed', async () => {
    const id = await created();
    expect((await a.post(path(id, '/assign'), { assignee: 'somebody' })).body).toEqual({ status: 'assigned', assignee: 'somebody' });
    expect((await b.post(path(id, '/assign'), {})).body).toEqual({ status: 'assigned', assignee: '' });
    expect((await a.post(path(id, '/close'))).body).toEqual({ status: 'closed' });
    expect((await b.post(path(id, '/close'), { reason: 'too late' })).body).toEqual({ status: 'closed' });
    expect((await b.get(path(id))).body).not.toHaveProperty('metadata');
    expect((await b.post(path(id, '/reopen'))).body).toEqual({ status: 'reopened' });
    expect((await a.post(path(id, '/close'), { reason: 'done' })).body).toEqual({ status: 'closed' });
    expect((await b.get(path(id))).body).toMatchObject({ status: 'closed', metadata: { close_reason: 'done' } });
    expect((await b.delete(path(id))).body).toEqual({ status: 'closed' });
    expect((await b.delete(path(id, '?hard=true'))).body).toEqual({ status: 'deleted' });
    expect((await a.get(path(id))).status).toBe(404);
    const updated = 'bead.updated';
    expect(await events(id)).toEqual(['bead.created', updated, updated, 'bead.closed', updated, 'bead.closed', 'bead.deleted']);
  });

  it('has labels of its own operations', async () => {
    const id = await created({ labels: ['a'] });
    const labels = path(id, '/labels');
    expect((await a.post(labels, { labels: ['b', 'a/b c'] })).body).toMatchObject({ id, labels: ['a', 'b', 'a/b c'] });
    expect((await b.delete(`${labels}/${encodeURIComponent('a/b c')}`)).body.labels).toEqual(['a', 'b']);
    expect((await b.delete(`${labels}/none`)).headers.get('etag')).toBe('"3"');
    expect((await a.send('PUT', labels, { labels: ['z'] })).body.labels).toEqual(['z']);
    expect((await a.send('PUT', labels, { labels: [] })).body).not.toHaveProperty('labels');
  });

  it('has children', async () => {
    const id = await created();
    const child = await created({ parent: id });
    expect((await b.get(path(id, '/deps'))).body.children).toMatchObject([{ id: child }]);
    expect((await b.get(path(child, '/deps'))).body).toEqual({ children: [] });
  });
});

describe('lists', () => {
  it('go on from page to page, on either replica', async () => {
    const type = 'paged';
    const all: string[] = [];
    for (let i = 0; i < 5; i++) all.unshift(await created({ type }));
    const walked: string[] = [];
    let next = '';
    do {
      const { body } = await (walked.length % 4 === 0 ? a : b).get(`${BEADS}?type=${type}&limit=2${next}`);
      expect(body.total).toBe(5);
      walked.push(...(body.items as { id: string }[]).map((bead) => bead.id));
      next = body.next_cursor === undefined ? '' : `&cursor=${body.next_cursor}`;
    } while (next !== '');
    expect(walked).toEqual(all);
  });

  it('of what is ready go on in their own order', async () => {
    for (const priority of [3, 0, 2]) await create({ priority, labels: ['walk'] });
    await create({ labels: ['walk'], defer_until: '9999-12-31T23:59:59Z' });
    const first = (await a.get(`${BEADS}/ready?label=walk&limit=2`)).body;
    const second = (await b.get(`${BEADS}/ready?label=walk&limit=2&cursor=${first.next_cursor}`)).body;
    expect([...first.items, ...second.items].map((bead: { priority: number }) => bead.priority)).toEqual([0, 2, 3]);
    expect(second).toMatchObject({ total: 3 });
    expect(second).not.toHaveProperty('next_cursor');
    expect((await a.get(`${BEADS}?cursor=${first.next_cursor}`)).body.code).toBe('invalid-cursor');
  });

  it.each(['', '/ready'])('%s wait for what another replica writes', async (list) => {
    const { headers } = await a.get(`${BEADS}${list}?label=awaited`);
    const index = headers.get('x-svc-index');
    const waiting = b.get(`${BEADS}${list}?label=awaited&index=${index}&wait=15s`);
    const id = await created({ labels: ['awaited'] });
    const { body, headers: after } = await waiting;
    expect((body.items as { id: string }[]).map((bead) => bead.id)).toContain(id);
    expect(Number(after.get('x-svc-index'))).toBeGreaterThan(Number(index));
    await a.delete(path(id));
  });
});

describe('the status of a city', () => {
  it('counts its work', async () => {
    const post = async (body: object): Promise<string> =>
      (await a.post('/v0/city/counted/beads', { title: 'x', ...body })).body.id as string;
    for (const body of [{}, {}, { type: 'gate' }, { defer_until: '9999-12-31T23:59:59Z' }]) await post(body);
    await a.patch(`/v0/city/counted/bead/${await post({})}`, { status: 'in_progress' });
    await a.delete(`/v0/city/counted/bead/${await post({})}`);
    expect((await b.get('/v0/city/counted/status')).body.work).toEqual({ open: 4, ready: 2, in_progress: 1 });
    expect((await b.get('/v0/city/counted/status?lite=true')).body.work).toEqual({ open: 0, ready: 0, in_progress: 0 });
  });
});

describe('two replicas', () => {
  it('create one bead under one key, whatever happens to the answer', async () => {
    const key = { 'Idempotency-Key': 'lost' };
    stack.failpoints[0]!.arm('bead.after_flush', () => {
      throw Object.assign(new Error('planted'), { code: 'ECONNRESET' });
    });
    expectRefusal(await a.post(BEADS, { title: 'keyed' }, key), BEADS, { status: 503, detail: /^unavailable: .*Idempotency-Key/ });
    const replies = await Promise.all(Array.from({ length: 10 }, () => b.post(BEADS, { title: 'keyed' }, key)));
    const { total, items } = (await b.get(`${BEADS}?text=keyed`)).body;
    expect(total).toBe(1);
    for (const reply of replies) {
      expect(reply).toMatchObject({ status: 201, body: items[0] });
      expect(reply.headers.get('location')).toBe(path(items[0].id as string));
    }
    expectRefusal(await b.post(BEADS, { title: 'other' }, key), BEADS, { status: 422, detail: /^idempotency_mismatch: / });
  });

  // Guard: items that share a transaction are decided each for itself.
  it('create together what is good, and refuse what is not', async () => {
    const gates = stack.failpoints.slice(0, 2).map((failpoints) => {
      const gate = new HoldingGate();
      failpoints.arm('bead.before_flush', gate.action(1));
      return gate;
    });
    const first = [a, b].map((at) => at.post(BEADS, { title: 'batched' }));
    await eventually(() => gates.every((gate) => gate.held === 1));
    const good = Array.from({ length: 30 }, (_, i) => (i % 2 ? a : b).post(BEADS, { title: 'batched' }));
    const bad = [a, b].map((at) => at.post(BEADS, { title: 'batched', parent: 'al-0' }));
    for (let i = 0; i < 3; i++) await Promise.all([a.get(BEADS), b.get(BEADS)]);
    for (const gate of gates) gate.release();
    const replies = await Promise.all([...first, ...good]);
    expect(replies.map((reply) => reply.status)).toEqual(Array(32).fill(201));
    for (const reply of await Promise.all(bad)) expectRefusal(reply, BEADS, { status: 404, detail: 'not_found: bead al-0 not found' });
    const ids = new Set(replies.map((reply) => reply.body.id as string));
    expect((await b.get(`${BEADS}?text=batched&limit=1000`)).body.total).toBe(32);
    expect(ids.size).toBe(32);
  });

  it('let one of many writers win a revision', async () => {
    const id = await created();
    const replies = await Promise.all(
      Array.from({ length: 12 }, (_, i) => (i % 2 ? a : b).patch(path(id), { title: `t${i}` }, { 'If-Match': '"1"' })),
    );
    expect(replies.filter((reply) => reply.status === 200)).toHaveLength(1);
    for (const reply of replies.filter((r) => r.status !== 200))
      expectRefusal(reply, path(id), { status: 412, detail: `revision_mismatch: bead ${id} is at revision 2, expected 1` });
    expect((await a.get(path(id))).body).toMatchObject({ revision: 2, title: `t${replies.findIndex((reply) => reply.status === 200)}` });
  });
});

describe('refusals', () => {
  const invalid = (...fields: string[]) => ({ status: 422, detail: 'validation_failed: validation failed', fields }) as const;
  const nobody = { status: 404, detail: 'not_found: bead al-0 not found' } as const;
  const nowhere = { status: 404, detail: 'not_found: city not found or not running: nowhere' } as const;
  const ID = 'ID';

  const cases: [string, string, unknown, Parameters<typeof expectRefusal>[2], Record<string, string>?][] = [
    ['POST', BEADS, {}, invalid('body.title')],
    ['POST', BEADS, { title: '' }, invalid('body.title')],
    ['POST', BEADS, { title: ' \t' }, invalid('body.title')],
    ['POST', BEADS, { title: 'x'.repeat(501) }, invalid('body.title')],
    ['POST', BEADS, { title: 'x', type: '' }, invalid('body.type')],
    ['POST', BEADS, { title: 'x', priority: 5 }, invalid('body.priority')],
    ['POST', BEADS, { title: 'x', priority: null }, invalid('body.priority')],
    ['POST', BEADS, { title: 'x', priority: 1.5 }, invalid('body.priority')],
    ['POST', BEADS, { title: 'x', assignee: '  ' }, invalid('body.assignee')],
    ['POST', BEADS, { title: 'x', assignee: 'y'.repeat(256) }, invalid('body.assignee')],
    ['POST', BEADS, { title: 'x', description: 'y'.repeat(256 * 1024 + 1) }, invalid('body.description')],
    ['POST', BEADS, { title: 'x', labels: Array(101).fill('l') }, invalid('body.labels')],
    ['POST', BEADS, { title: 'x', labels: [''] }, invalid('body.labels.0')],
    ['POST', BEADS, { title: 'x', metadata: { k: 1 } }, invalid('body.metadata.k')],
    ['POST', BEADS, { title: 'x', metadata: { k: 'v'.repeat(16 * 1024 + 1) } }, invalid('body.metadata.k')],
    ['POST', BEADS, { title: 'x', metadata: { 'gc.routed_to': 'v'.repeat(256) } }, invalid('body.metadata.gc.routed_to')],
    ['POST', BEADS, { title: 'x', defer_until: 'tomorrow' }, invalid('body.defer_until')],
    ['POST', BEADS, { title: 'x', defer_until: '0000-01-01T00:00:00Z' }, invalid('body.defer_until')],
    ['POST', BEADS, { title: 'x', defer_until: '9999-12-31T23:59:59-01:00' }, invalid('body.defer_until')],
    ['POST', BEADS, { title: 'x', status: 'closed' }, invalid('body.status')],
    ['POST', BEADS, { title: 'nul \0' }, invalid('body.title')],
    ['POST', BEADS, { title: 'x', rig: 'nowhere' }, { status: 404, detail: 'not_found: rig nowhere not found' }],
    ['POST', BEADS, { title: 'x', parent: 'al-0' }, nobody],
    ['POST', '/v0/city/nowhere/beads', { title: 'x' }, nowhere],
    ['GET', `${BEADS}?status=blocked`, undefined, invalid('query.status')],
    ['GET', `${BEADS}?limit=1001`, undefined, invalid('query.limit')],
    ['GET', `${BEADS}?blocked=maybe`, undefined, invalid('query.blocked')],
    ['GET', `${BEADS}?metadata==v`, undefined, invalid('query.metadata.0')],
    ['GET', `${BEADS}?created_after=yesterday`, undefined, invalid('query.created_after')],
    ['GET', `${BEADS}?wait=no`, undefined, invalid('query.wait')],
    ['GET', `${BEADS}?cursor=garbage`, undefined, { status: 400, detail: /^invalid_cursor: / }],
    ['GET', `${BEADS}?label=a&label=b`, undefined, invalid('query.label')],
    ['GET', '/v0/city/nowhere/beads', undefined, nowhere],
    ['GET', `${BEADS}/ready?limit=0`, undefined, invalid('query.limit')],
    ['GET', `${BEADS}/ready?cursor=v1:e30`, undefined, { status: 400, detail: /^invalid_cursor: / }],
    ['GET', '/v0/city/nowhere/beads/ready', undefined, nowhere],
    ['GET', path('al-0'), undefined, nobody],
    ['GET', '/v0/city/nowhere/bead/al-1', undefined, nowhere],
    ['GET', path('al-0', '/deps'), undefined, nobody],
    ['PATCH', path('al-0'), {}, nobody],
    ['PATCH', '/v0/city/nowhere/bead/al-1', {}, nowhere],
    ['PATCH', path(ID), { priority: null }, invalid('body.priority')],
    ['PATCH', path(ID), { status: 'blocked' }, invalid('body.status')],
    ['PATCH', path(ID), { title: '' }, invalid('body.title')],
    ['PATCH', path(ID), { title: ' ' }, invalid('body.title')],
    ['PATCH', path(ID), { parent: 'al-0' }, nobody],
    ['PATCH', path(ID), { parent: ID }, { status: 409, detail: /^conflict: .* → / }],
    ['PATCH', path(ID), { ref: 'x' }, invalid('body.ref')],
    ['PATCH', path(ID), {}, invalid('header.If-Match'), { 'If-Match': '7' }],
    ['PATCH', path(ID), {}, { status: 412, detail: /^revision_mismatch: / }, { 'If-Match': '"7"' }],
    ['POST', path('al-0', '/assign'), { assignee: 'x' }, nobody],
    ['POST', path(ID, '/close'), { why: 'x' }, invalid('body.why')],
    ['POST', path('al-0', '/close'), undefined, nobody],
    ['POST', path(ID, '/reopen'), undefined, { status: 409, detail: /^conflict: bead \S+ is not closed \(status: open\)$/ }],
    ['DELETE', path('al-0'), undefined, nobody],
    ['DELETE', path(ID, '?hard=perhaps'), undefined, invalid('query.hard')],
    ['PUT', path(ID, '/labels'), {}, invalid('body.labels')],
    ['POST', path(ID, '/labels'), { labels: [1] }, invalid('body.labels.0')],
    ['DELETE', path('al-0', '/labels/x'), undefined, nobody],
  ];

  it.each(cases.map((row) => [`${row[0]} ${row[1]} ${JSON.stringify(row[2] ?? '').slice(0, 60)}`, row] as const))(
    '%s',
    async (_title, [method, target, body, refusal, headers]) => {
      const id = await created();
      const real = target.replace(ID, id);
      const given: unknown = body === undefined ? undefined : JSON.parse(JSON.stringify(body).replaceAll(`"${ID}"`, `"${id}"`));
      const reply = await witness.unchangedBy(() => b.send(method, real, given, headers));
      expectRefusal(reply, real, refusal);
    },
  );
});
