import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { startStack, type Stack } from '../support/app.js';
import { adminAt } from '../support/database.js';
import { api, type Api, type Reply } from '../support/http.js';
import { expectRefusal } from '../support/refusal.js';

let stack: Stack;
let a: Api;
let b: Api;

/** A running city with the rig `web`, without a worker: these tests are about its work. */
async function aCity(name: string): Promise<void> {
  await adminAt(
    stack.databaseUrl,
    `with s as (insert into event_streams (name) values ($1) returning id),
       c as (insert into cities (name, dir, stream_id, running, phase) select $1, '/' || $1, id, true, 'running' from s)
     insert into rigs (stream_id, name, prefix, position) select s.id, r.name, r.prefix, r.position
     from s, (values ('', 'c', 0), ('web', 'w', 1)) r (name, prefix, position)`,
    [name],
  );
}
async function bead(city: string, more: object = {}): Promise<string> {
  const reply = await a.post(`/v0/city/${city}/beads`, { title: 'work', ...more });
  expect(reply.status).toBe(201);
  return reply.body.id;
}
async function convoy(city: string, body: object = {}): Promise<string> {
  const reply = await b.post(`/v0/city/${city}/convoys`, { title: 'batch', ...body });
  expect(reply.status).toBe(201);
  return reply.body.id;
}
const told = async (city: string, above = 0): Promise<string[]> =>
  (await b.get(`/v0/city/${city}/events?after_seq=${above}&limit=1000`)).body.items.map(
    (e: { type: string; subject: string }) => `${e.type} ${e.subject}`,
  );
const indexOf = (reply: Reply): number => Number(reply.headers.get('x-svc-index'));

beforeAll(async () => {
  stack = await startStack({ workers: 0 });
  [a, b] = stack.urls.map((url) => api(url)) as [Api, Api];
  for (const name of ['life', 'paths', 'lists', 'wrong', 'keys']) await aCity(name);
});
afterAll(() => stack?.stop());

describe('a convoy', () => {
  const at = '/v0/city/life';

  it('is created, read, checked, changed and closes by itself, every answer with its index', async () => {
    const [one, two, three] = [await bead('life'), await bead('life', { rig: 'web' }), await bead('life')];
    const head = (await told('life')).length;
    const created = await a.post(`${at}/convoys`, { title: 'batch', items: [two, one], owner: 'mayor', target: 'main' });
    expect(created.status).toBe(201);
    const { id } = created.body;
    expect(created.body).toMatchObject({ issue_type: 'convoy', status: 'open', metadata: { 'convoy.owner': 'mayor', target: 'main' } });
    expect([indexOf(created), created.headers.get('x-svc-cache-age-s')]).toEqual([head + 2, '0']);
    expect(await told('life', head)).toEqual([`bead.created ${id}`, `convoy.created ${id}`]);

    const read = await b.get(`${at}/convoy/${id}`);
    expect([read.status, indexOf(read)]).toEqual([200, head + 2]);
    expect(read.body).toMatchObject({ convoy: created.body, children: [{ id: one }, { id: two }], progress: { total: 2, closed: 0 } });

    const added = await b.post(`${at}/convoy/${id}/add`, { items: [three, one] });
    expect([added.status, added.body, indexOf(added)]).toEqual([200, { status: 'updated' }, head + 3]);
    await a.post(`${at}/bead/${one}/close`);
    expect((await a.post(`${at}/convoy/${id}/add`, { items: [one] })).body).toEqual({ status: 'updated', closed_items: [one] });
    expect((await b.get(`${at}/convoy/${id}/check`)).body).toEqual({ convoy_id: id, total: 3, closed: 1, complete: false });
    expect((await a.post(`${at}/convoy/${id}/remove`, { items: [three] })).body).toEqual({ status: 'updated' });
    await b.post(`${at}/bead/${two}/close`);
    expect((await told('life')).slice(-3)).toEqual([`bead.closed ${two}`, `bead.closed ${id}`, `convoy.closed ${id}`]);
    expect((await a.get(`${at}/convoy/${id}/check`)).body).toEqual({ convoy_id: id, total: 2, closed: 2, complete: true });
    expect((await a.get(`${at}/convoy/${id}`)).body).toMatchObject({
      convoy: { status: 'closed', metadata: { close_reason: 'convoy autoclose: all children closed' } },
      children: [{ status: 'closed' }, { status: 'closed' }],
    });
  });

  it('is told of as closed once, by whatever path it closes', async () => {
    const path = (id: string): Record<string, () => Promise<Reply>> => ({
      close: () => a.post(`/v0/city/paths/convoy/${id}/close`, { reason: 'by hand' }),
      'close without a body': () => b.post(`/v0/city/paths/convoy/${id}/close`),
      delete: () => a.delete(`/v0/city/paths/convoy/${id}`),
      land: () => b.post(`/v0/city/paths/convoy/${id}/land`, { force: true }),
      'bead close': () => a.post(`/v0/city/paths/bead/${id}/close`),
      'bead delete': () => b.delete(`/v0/city/paths/bead/${id}`),
      'bead update': () => a.patch(`/v0/city/paths/bead/${id}`, { status: 'closed' }),
    });
    for (const name of Object.keys(path(''))) {
      const id = await convoy('paths', { title: name, items: [await bead('paths')], owned: true });
      const head = (await told('paths')).length;
      for (let i = 0; i < 2; i++) expect([name, (await path(id)[name]!()).status]).toEqual([name, 200]);
      expect([name, ...(await told('paths', head))]).toEqual([name, `bead.closed ${id}`, `convoy.closed ${id}`]);
    }
    const { items } = (await b.get('/v0/city/paths/events?after_seq=0&limit=1000&type=convoy.closed')).body;
    expect(items.map((e: { payload: { reason?: string } }) => e.payload.reason).slice(0, 4)).toEqual([
      'by hand',
      'convoy close: requested by operator',
      'convoy close: requested by operator',
      'convoy land: completed owned convoy',
    ]);
  });

  it('that is owned lands when its owner says so', async () => {
    const item = await bead('paths');
    const id = await convoy('paths', { items: [item], owned: true });
    const path = `/v0/city/paths/convoy/${id}/land`;
    expectRefusal(await a.post(path), path, { status: 409, detail: /^conflict: .* 1 open member;/, fields: ['convoy.items'] });
    await a.post(`/v0/city/paths/bead/${item}/close`);
    expect((await b.get(`/v0/city/paths/convoy/${id}/check`)).body.complete).toBe(true);
    const answer = { convoy_id: id, total: 1, closed: 1, open_items: [] };
    expect((await b.post(path, { dry_run: true })).body).toEqual({ status: 'would_land', ...answer });
    expect((await a.get(`/v0/city/paths/convoy/${id}`)).body.convoy.status).toBe('open');
    expect((await a.post(path)).body).toEqual({ status: 'landed', ...answer });
  });
});

describe('the list of convoys', () => {
  const list = async (query: string): Promise<{ items: { id: string; title: string }[]; total: number; next_cursor?: string }> => {
    const reply = await a.get(`/v0/city/lists/convoys?${query}`);
    expect(reply.status).toBe(200);
    return reply.body;
  };
  const titles = async (query: string): Promise<string[]> => (await list(query)).items.map((item) => item.title);

  it('has open ones, newest first, in pages that neither shift nor repeat', async () => {
    for (let i = 1; i <= 7; i++) await convoy('lists', { title: `n${i}` });
    await a.post('/v0/city/lists/convoy/c-2/close');
    const seen: string[] = [];
    let cursor: string | undefined;
    do {
      const page = await list(`limit=2${cursor === undefined ? '' : `&cursor=${encodeURIComponent(cursor)}`}`);
      seen.push(...page.items.map((item) => item.title));
      if (cursor === undefined) await convoy('lists', { title: 'late' });
      expect(page.total).toBe(cursor === undefined ? 6 : 7);
      cursor = page.next_cursor;
    } while (cursor !== undefined);
    expect(seen).toEqual(['n7', 'n6', 'n5', 'n4', 'n3', 'n1']);
    expect((await list('all=true&limit=0')).total).toBe(8);
    expect(await titles('all=true&limit=8')).toEqual(['late', 'n7', 'n6', 'n5', 'n4', 'n3', 'n2', 'n1']);
    expect((await list('limit=7')).next_cursor).toBeUndefined();
  });

  it('is filtered by rig, ownership and by what nobody works on', async () => {
    const [idle, taken, done] = [await bead('lists'), await bead('lists', { assignee: 'somebody' }), await bead('lists')];
    await a.post(`/v0/city/lists/bead/${done}/close`);
    await convoy('lists', { title: 'stranded', rig: 'web', items: [idle, taken] });
    await convoy('lists', { title: 'tended', rig: 'web', items: [taken, done], owned: true });
    expect(await titles('rig=web')).toEqual(['tended', 'stranded']);
    expect(await titles('rig=nowhere')).toEqual([]);
    expect(await titles('owned=true')).toEqual(['tended']);
    expect(await titles('rig=web&owned=false')).toEqual(['stranded']);
    expect(await titles('stranded=true')).toEqual(['stranded']);
    expect(await titles('rig=web&stranded=0')).toEqual(['tended']);
  });

  it('waits until the city has moved', async () => {
    const head = indexOf(await a.get('/v0/city/lists/convoys'));
    const waiting = a.get(`/v0/city/lists/convoys?index=${head}&wait=10s&limit=1`);
    const id = await convoy('lists', { title: 'awaited' });
    const reply = await waiting;
    expect(reply.body.items[0]).toMatchObject({ id, title: 'awaited' });
    expect(indexOf(reply)).toBeGreaterThan(head);
    expect(indexOf(await b.get(`/v0/city/lists/convoys?index=${head}`))).toBe(indexOf(reply));
    expect((await a.get(`/v0/city/lists/convoys?index=${indexOf(reply)}&wait=1ms`)).status).toBe(200);
  });
});

describe('an Idempotency-Key', () => {
  it('makes one convoy of twenty requests at two replicas', async () => {
    const key = { 'Idempotency-Key': 'once' };
    const item = await bead('keys');
    const make = (at: Api): Promise<Reply> => at.post('/v0/city/keys/convoys', { title: 'batch', items: [item] }, key);
    const replies = await Promise.all(Array.from({ length: 20 }, (_, i) => make(i % 2 === 0 ? a : b)));
    const made = replies.filter((reply) => reply.status === 201);
    for (const reply of replies) if (reply.status !== 201) expect([409, 503]).toContain(reply.status);
    expect(new Set(made.map((reply) => reply.text)).size).toBe(1);
    expect((await a.get('/v0/city/keys/convoys?all=true')).body.total).toBe(1);
    await bead('keys');
    const again = await make(b);
    expect([again.text, indexOf(again)]).toEqual([made[0]!.text, (await told('keys')).length]);
    const other = await a.post('/v0/city/keys/convoys', { title: 'other' }, key);
    expectRefusal(other, '/v0/city/keys/convoys', { status: 422, detail: /^idempotency_mismatch: / });
  });
});

describe('refusals', () => {
  const at = '/v0/city/wrong';

  it('name what is not there or no convoy, and change nothing', async () => {
    const item = await bead('wrong');
    const stranger = await bead('wrong');
    const inner = await convoy('wrong', { items: [item] });
    const outer = await convoy('wrong', { items: [inner] });
    const shut = await convoy('wrong');
    await a.post(`${at}/convoy/${shut}/close`);
    const head = (await told('wrong')).length;
    type Case = readonly [method: string, path: string, body: object | undefined, status: number, detail: string];
    const cases: readonly Case[] = [
      ['GET', '/v0/city/nowhere/convoys', undefined, 404, 'not_found: city not found or not running: nowhere'],
      ['POST', '/v0/city/nowhere/convoys', { title: 'x' }, 404, 'not_found: city not found or not running: nowhere'],
      ['GET', `${at}/convoy/c-99`, undefined, 404, 'not_found: convoy c-99 not found'],
      ['GET', `${at}/convoy/${item}`, undefined, 404, `not_found: bead ${item} is not a convoy`],
      ['GET', `${at}/convoy/c-99/check`, undefined, 404, 'not_found: convoy c-99 not found'],
      ['GET', `${at}/convoy/${item}/check`, undefined, 400, `invalid: bead ${item} is not a convoy`],
      ...(['add', 'remove', 'close', 'land'] as const).flatMap((verb): Case[] => [
        ['POST', `${at}/convoy/c-99/${verb}`, {}, 404, 'not_found: convoy c-99 not found'],
        ['POST', `${at}/convoy/${item}/${verb}`, {}, 400, `invalid: bead ${item} is not a convoy`],
      ]),
      ['DELETE', `${at}/convoy/c-99`, undefined, 404, 'not_found: convoy c-99 not found'],
      ['DELETE', `${at}/convoy/${item}`, undefined, 400, `invalid: bead ${item} is not a convoy`],
      ['POST', `${at}/convoys`, { title: 'x', rig: 'nowhere' }, 404, 'not_found: rig nowhere not found'],
      ['POST', `${at}/convoys`, { title: 'x', items: [item, 'c-99'] }, 404, 'not_found: item c-99 not found'],
      ['POST', `${at}/convoy/${inner}/add`, { items: [stranger, 'c-99'] }, 404, 'not_found: item c-99 not found'],
      ['POST', `${at}/convoy/${inner}/remove`, { items: ['c-99'] }, 404, 'not_found: item c-99 not found'],
      [
        'POST',
        `${at}/convoy/${inner}/remove`,
        { items: [item, stranger] },
        400,
        `invalid: item ${stranger} does not belong to convoy ${inner}`,
      ],
      ['POST', `${at}/convoy/${shut}/add`, { items: [item] }, 409, `conflict: convoy ${shut} is closed; reopen it first`],
      [
        'POST',
        `${at}/convoy/${inner}/add`,
        { items: [outer] },
        409,
        `conflict: a convoy cannot be in itself: ${inner} → ${outer} → ${inner}`,
      ],
      ['POST', `${at}/convoy/${inner}/land`, { force: true }, 409, `conflict: convoy ${inner} is not owned: it closes by itself`],
      ['GET', `${at}/convoys?cursor=v1:e30`, undefined, 400, 'invalid_cursor: …'],
    ];
    for (const [i, [method, path, body, status, detail]] of cases.entries())
      expectRefusal(await (i % 2 === 0 ? a : b).send(method, path, body), path, { status, detail });
    expect(await told('wrong', head)).toEqual([]);
  });

  it('list the fields that are wrong', async () => {
    const cases: readonly (readonly [method: string, path: string, body: object | undefined, field: string])[] = [
      ['POST', `${at}/convoys`, {}, 'body.title'],
      ['POST', `${at}/convoys`, { title: '' }, 'body.title'],
      ['POST', `${at}/convoys`, { title: ' ' }, 'body.title'],
      ['POST', `${at}/convoys`, { title: 'x'.repeat(501) }, 'body.title'],
      ['POST', `${at}/convoys`, { title: 'nul \0' }, 'body.title'],
      ['POST', `${at}/convoys`, { title: 'x', description: 'x'.repeat(256 * 1024 + 1) }, 'body.description'],
      ['POST', `${at}/convoys`, { title: 'x', merge: 'squash' }, 'body.merge'],
      ['POST', `${at}/convoys`, { title: 'x', owner: ' ' }, 'body.owner'],
      ['POST', `${at}/convoys`, { title: 'x', labels: Array(101).fill('l') }, 'body.labels'],
      ['POST', `${at}/convoys`, { title: 'x', items: Array(1001).fill('c-1') }, 'body.items'],
      ['POST', `${at}/convoys`, { title: 'x', items: [''] }, 'body.items.0'],
      ['POST', `${at}/convoys`, { title: 'x', status: 'closed' }, 'body.status'],
      ['POST', `${at}/convoy/c-1/add`, { items: 'c-1' }, 'body.items'],
      ['POST', `${at}/convoy/c-1/close`, { reason: '' }, 'body.reason'],
      ['POST', `${at}/convoy/c-1/land`, { force: 'yes' }, 'body.force'],
      ['GET', `${at}/convoys?limit=1001`, undefined, 'query.limit'],
      ['GET', `${at}/convoys?owned=maybe`, undefined, 'query.owned'],
      ['GET', `${at}/convoys?index=-1`, undefined, 'query.index'],
      ['GET', `${at}/convoys?wait=soon`, undefined, 'query.wait'],
      ['GET', `${at}/convoys?status=open`, undefined, 'query.status'],
    ];
    for (const [method, path, body, field] of cases)
      expectRefusal(await a.send(method, path, body), path, {
        status: 422,
        detail: 'validation_failed: validation failed',
        fields: [field],
      });
    const unpadded = await a.post(`${at}/convoys`, { title: 'x', items: null });
    expect(unpadded.status).toBe(201);
  });
});
