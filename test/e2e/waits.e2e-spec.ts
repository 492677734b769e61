import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { startStack, type Stack } from '../support/app.js';
import { api, type Api, type Reply } from '../support/http.js';
import { Ledger } from '../support/ledger.js';
import { expectRefusal } from '../support/refusal.js';
import { eventually } from '../support/sse.js';

let stack: Stack;
let a: Api;
let b: Api;
const city = '/v0/city/alpha';

beforeAll(async () => {
  stack = await startStack({ workers: 2 });
  [a, b] = stack.urls.map((url) => api(url)) as [Api, Api];
  const ledger = await Ledger.open(stack);
  await ledger.succeeded(await a.post('/v0/city', { dir: 'alpha', provider: 'loopback' }), 'request.result.city.create');
  await ledger.stream.close();
});
afterAll(() => stack?.stop());

const bead = async (): Promise<string> => {
  const reply = await a.post(`${city}/beads`, { title: 'work' });
  expect(reply.status).toBe(201);
  return reply.body.id as string;
};
const register = async (body: object, headers: Record<string, string> = {}, at = a): Promise<Reply> => {
  const reply = await at.post(`${city}/waits`, { session: 'somebody', ...body }, headers);
  expect({ status: reply.status, text: reply.text }).toMatchObject({ status: 201 });
  return reply;
};
const wait = (id: string, step = ''): string => `${city}/wait/${id}${step}`;
interface Told {
  readonly type: string;
  readonly actor: string;
  readonly payload: { readonly bead: { readonly metadata: { readonly state: string } } };
}
const events = async (id: string): Promise<Told[]> => (await b.get(`${city}/events?after_seq=0&limit=1000&subject=${id}`)).body.items;

describe('waits over HTTP', () => {
  it('become ready once when replicas close their beads at once, and end with the accepted nudge', async () => {
    const ids = await Promise.all(Array.from({ length: 8 }, bead));
    const made = await register({ dep_ids: ids, note: 'all done' });
    const { id } = made.body as { id: string };
    expect(made.body).toMatchObject({ state: 'pending', status: 'open', note: 'all done', dep_ids: ids });
    await Promise.all(ids.flatMap((dep) => [a.post(`${city}/bead/${dep}/close`), b.post(`${city}/bead/${dep}/close`)]));
    const ready = (await b.get(wait(id))).body;
    expect(ready).toMatchObject({ state: 'ready', nudge_id: `wait-${id}-1-1` });
    expect((await events(id)).filter((e) => e.payload.bead.metadata.state === 'ready')).toHaveLength(1);
    const { nudge_id } = ready as { nudge_id: string };
    const accepted = await Promise.all([a, b, a, b].map((at) => at.post(wait(id, '/accept'), { nudge_id })));
    for (const reply of accepted) expect(reply.body).toMatchObject({ state: 'closed', status: 'closed' });
    expect((await events(id)).filter((e) => e.type === 'bead.closed')).toHaveLength(1);
    expect((await a.get(`${city}/waits`)).body.waits.map((one: { id: string }) => one.id)).not.toContain(id);
    expect((await a.get(`${city}/waits?state=closed`)).body.waits.map((one: { id: string }) => one.id)).toContain(id);
  });

  it('expire by themselves, once, whatever workers there are', async () => {
    const { id } = (await register({ kind: 'manual', timeout: '1ms' })).body as { id: string };
    await eventually(async () => (await b.get(wait(id))).body.state === 'expired');
    const last = (await events(id)).slice(1);
    expect(last.map((e) => [e.type, e.actor])).toEqual([['bead.closed', 'reconciler']]);
  });

  it('are registered once under a key, at any replica', async () => {
    const dep = await bead();
    const key = { 'Idempotency-Key': 'wait-once' };
    const first = await register({ dep_ids: [dep] }, key);
    await a.post(`${city}/bead/${dep}/close`);
    expect((await register({ dep_ids: [dep] }, key, b)).body).toEqual(first.body);
    const path = `${city}/waits`;
    const other = await b.post(path, { session: 'somebody', kind: 'manual' }, key);
    expectRefusal(other, path, { status: 422, detail: /^idempotency_mismatch: / });
  });

  it('are readied, canceled and failed by hand, and tried again', async () => {
    const { id } = (await register({ kind: 'manual' })).body as { id: string };
    const ready = await b.post(wait(id, '/ready'));
    expect(ready.body).toMatchObject({ state: 'ready' });
    const { nudge_id } = ready.body as { nudge_id: string };
    expect((await a.post(wait(id, '/fail'), { nudge_id, error: 'nobody there' })).body).toMatchObject({
      state: 'failed',
      last_error: 'nobody there',
    });
    const retry = await b.post(wait(id, '/ready'));
    expect(retry.body).toMatchObject({ state: 'ready', retried_from_wait: id, delivery_attempt: '2' });
    const { id: next } = retry.body as { id: string };
    expect((await a.post(wait(next, '/cancel'), { reason: 'enough' })).body).toMatchObject({ state: 'canceled', close_reason: 'enough' });
    expect((await b.post(wait(next, '/cancel'))).body).toMatchObject({ state: 'canceled' });
  });

  it('are refused with a reason', async () => {
    const dep = await bead();
    const pending = ((await register({ kind: 'manual' })).body as { id: string }).id;
    const invalid = 'validation_failed: validation failed';
    const path = `${city}/waits`;
    const bodies: [object, string[]][] = [
      [{}, ['body.session']],
      [{ session: ' ', kind: 'manual' }, ['body.session']],
      [{ session: 'x' }, ['body.dep_ids']],
      [{ session: 'x', kind: 'manual', dep_ids: [dep] }, ['body.dep_ids']],
      [{ session: 'x', kind: 'nap' }, ['body.kind']],
      [{ session: 'x', dep_ids: [dep], dep_mode: 'most' }, ['body.dep_mode']],
      [{ session: 'x', dep_ids: [dep], timeout: '-1s' }, ['body.timeout']],
      [{ session: 'x', dep_ids: [dep], timeout: '2562048h' }, ['body.timeout']],
      [{ session: 'x', dep_ids: [dep], expires_at: '2027-01-01' }, ['body.expires_at']],
      [{ session: 'x', dep_ids: [dep], expires_at: '2001-01-01T00:00:00Z' }, ['body.expires_at']],
      [{ session: 'x', dep_ids: [dep], expires_at: '9999-12-31T23:59:59-01:00' }, ['body.expires_at']],
      [{ session: 'x', dep_ids: [dep], expires_at: '2999-01-01T00:00:00Z', timeout: '1s' }, ['body.timeout']],
      [{ session: 'x', kind: 'manual', note: 'n'.repeat(16_385) }, ['body.note']],
      [{ session: 'x', kind: 'manual', color: 'red' }, ['body.color']],
    ];
    for (const [body, fields] of bodies) expectRefusal(await a.post(path, body), path, { status: 422, detail: invalid, fields });
    expectRefusal(await a.post(path, { session: 'x', dep_ids: [dep, 'nope'] }), path, {
      status: 404,
      detail: 'not_found: bead nope not found',
    });

    const changes: [string, string, object | undefined, number, string][] = [
      [pending, '/accept', { nudge_id: 'x' }, 409, `conflict: wait ${pending} is not ready (state: pending)`],
      [pending, '/fail', { nudge_id: 'x', error: 'y' }, 409, `conflict: wait ${pending} is not ready (state: pending)`],
      [pending, '/accept', {}, 422, invalid],
      [dep, '/ready', undefined, 404, `not_found: ${dep} is not a wait`],
      ['nope', '/cancel', undefined, 404, 'not_found: nope'],
    ];
    for (const [id, step, body, status, detail] of changes)
      expectRefusal(await b.post(wait(id, step), body), wait(id, step), { status, detail });
    await a.post(wait(pending, '/ready'));
    const stale = await b.post(wait(pending, '/accept'), { nudge_id: 'stale' });
    const detail = `conflict: the nudge of wait ${pending} is wait-${pending}-1-1, not stale`;
    expectRefusal(stale, wait(pending, '/accept'), { status: 409, detail });

    expectRefusal(await a.get(wait('nope')), wait('nope'), { status: 404, detail: 'not_found: nope' });
    expectRefusal(await a.get(wait(dep)), wait(dep), { status: 404, detail: `not_found: ${dep} is not a wait` });
    expectRefusal(await a.get(`${path}?cursor=x`), path, { status: 400, detail: 'invalid_cursor: …' });
    expectRefusal(await a.get(`${path}?limit=1001`), path, { status: 422, detail: invalid, fields: ['query.limit'] });
    expect((await a.get(`${path}?state=nonsense`)).body).toEqual({ waits: [], capped: false });
  });

  it('are listed page by page, and gone with their city', async () => {
    for (let i = 0; i < 5; i++) await register({ kind: 'manual', session: 'pager' });
    const seen: string[] = [];
    let cursor = '';
    do {
      const { body } = await b.get(`${city}/waits?session=pager&limit=2${cursor}`);
      seen.push(...body.waits.map((one: { id: string }) => one.id));
      cursor = body.capped ? `&cursor=${encodeURIComponent(body.next_cursor as string)}` : '';
    } while (cursor !== '');
    expect(seen).toHaveLength(5);
    expect(new Set(seen).size).toBe(5);
    const elsewhere = '/v0/city/nobody/waits';
    expectRefusal(await a.get(elsewhere), elsewhere, { status: 404, detail: 'not_found: city not found or not running: nobody' });
  });
});
