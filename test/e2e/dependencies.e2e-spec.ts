import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { startStack, type Stack } from '../support/app.js';
import { api, type Api, type Reply } from '../support/http.js';
import { Ledger } from '../support/ledger.js';
import { expectRefusal } from '../support/refusal.js';

let stack: Stack;
let a: Api;
let b: Api;
const city = '/v0/city/alpha';

beforeAll(async () => {
  stack = await startStack();
  [a, b] = stack.urls.map((url) => api(url)) as [Api, Api];
  const ledger = await Ledger.open(stack);
  await ledger.succeeded(await a.post('/v0/city', { dir: 'alpha', provider: 'loopback' }), 'request.result.city.create');
  await ledger.stream.close();
});
afterAll(() => stack?.stop());

const bead = async (more: object = {}): Promise<string> => {
  const reply = await a.post(`${city}/beads`, { title: 'work', ...more });
  expect(reply.status).toBe(201);
  return reply.body.id as string;
};
const edges = (id: string): string => `${city}/bead/${id}/dependencies`;
const add = (at: Api, id: string, depends_on_id: string, more: object = {}): Promise<Reply> =>
  at.post(edges(id), { depends_on_id, ...more });

describe('dependencies over HTTP', () => {
  it('are added, listed from both sides and removed, at any replica', async () => {
    const [one, two] = [await bead(), await bead()];
    const added = await add(a, one, two);
    const edge = { issue_id: one, depends_on_id: two, type: 'blocks', blocking: true, satisfied: false, status: 'open', title: 'work' };
    expect({ status: added.status, body: added.body }).toEqual({ status: 201, body: edge });
    const again = await add(b, one, two);
    expect(again.body).toEqual(edge);
    expect(again.headers.get('x-svc-index')).toBe(added.headers.get('x-svc-index'));
    const down = await b.get(edges(one));
    expect(down.body).toEqual({ items: [edge], blocked_by: [two], total: 1 });
    expect(down.headers.get('x-svc-index')).toBe(added.headers.get('x-svc-index'));
    expect((await b.get(`${edges(two)}?direction=up`)).body).toEqual({ items: [edge], blocked_by: [], total: 1 });
    expect((await b.get(`${city}/bead/${one}`)).body).toMatchObject({ is_blocked: true, dependencies: [{ depends_on_id: two }] });
    for (const at of [a, b]) expect((await at.delete(`${edges(one)}/${two}`)).body).toEqual({ status: 'removed' });
    expect((await a.get(edges(one))).body).toEqual({ items: [], blocked_by: [], total: 0 });
    const { body } = await a.get(`${city}/events?after_seq=0&subject=${one}`);
    expect(body.items.map((e: { type: string }) => e.type)).toEqual(['bead.created', 'bead.updated', 'bead.updated']);
  });

  it('cannot be made into a circle from two replicas at once', async () => {
    const ids = await Promise.all(Array.from({ length: 16 }, () => bead()));
    const replies: Promise<Reply>[] = [];
    for (let i = 0; i < ids.length; i += 2) replies.push(add(a, ids[i]!, ids[i + 1]!), add(b, ids[i + 1]!, ids[i]!));
    const statuses = (await Promise.all(replies)).map((reply) => reply.status);
    for (let i = 0; i < statuses.length; i += 2) expect(statuses.slice(i, i + 2).sort()).toEqual([201, 409]);
  });

  it('are refused with a reason', async () => {
    const [one, two] = [await bead(), await bead()];
    await add(a, one, two);
    const body422 = 'validation_failed: validation failed';
    const posts: [string, unknown, number, string, string[]?][] = [
      [edges(two), { depends_on_id: one }, 409, `conflict: dependency cycle: ${two} → ${one} → ${two}`],
      [edges(one), { depends_on_id: one }, 422, body422, ['body.depends_on_id']],
      [edges(one), { depends_on_id: 'nope' }, 404, 'not_found: bead nope not found'],
      [edges('nope'), { depends_on_id: one }, 404, 'not_found: bead nope not found'],
      [edges(one), { depends_on_id: two, type: 'tracks' }, 422, body422, ['body.type']],
      [edges(one), { depends_on_id: two, type: 'wishes' }, 422, body422, ['body.type']],
      [edges(one), { depends_on_id: two, more: 1 }, 422, body422, ['body.more']],
      [edges(one), {}, 422, body422, ['body.depends_on_id']],
      ['/v0/city/nobody/bead/x/dependencies', { depends_on_id: 'y' }, 404, 'not_found: city not found or not running: nobody'],
    ];
    for (const [path, body, status, detail, fields] of posts)
      expectRefusal(await b.post(path, body), path, { status, detail, ...(fields === undefined ? {} : { fields }) });
    const gets: [string, number, string, string[]?][] = [
      [edges('nope'), 404, 'not_found: bead nope not found'],
      [`${edges(one)}?direction=sideways`, 422, body422, ['query.direction']],
      [`${edges(one)}?limit=1001`, 422, body422, ['query.limit']],
      [`${edges(one)}?cursor=x`, 400, 'invalid_cursor: …'],
    ];
    for (const [path, status, detail, fields] of gets)
      expectRefusal(await b.get(path), path, { status, detail, ...(fields === undefined ? {} : { fields }) });
    const missing = `${edges('nope')}/${two}`;
    expectRefusal(await b.delete(missing), missing, { status: 404, detail: 'not_found: bead nope not found' });
  });
});

describe('the graph over HTTP', () => {
  it('is the root with all that belongs to it', async () => {
    const root = await bead({ title: 'root' });
    const child = await bead({ parent: root });
    const step = await bead({ metadata: { 'gc.root_bead_id': root } });
    await add(a, step, child);
    const path = `${city}/beads/graph/${root}`;
    const reply = await b.get(path);
    expect(reply.status).toBe(200);
    expect(reply.body).toMatchObject({
      root: { id: root },
      membership: 'direct-root-id+parent-closure',
      deps: expect.arrayContaining([
        { from: root, to: child, kind: 'parent-child' },
        { from: child, to: step, kind: 'blocks' },
      ]),
    });
    expect(reply.body.beads.map((one: { id: string }) => one.id)).toEqual([root, child, step]);
    const { headers } = await b.get(`${city}/events?limit=1`);
    expect(reply.headers.get('x-svc-index')).toBe(headers.get('x-svc-index'));
    const missing = `${city}/beads/graph/nope`;
    expectRefusal(await a.get(missing), missing, { status: 404, detail: 'not_found: bead nope not found' });
  });
});
