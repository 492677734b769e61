import { createHash } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { startStack, type Stack } from '../support/app.js';
import { adminAt } from '../support/database.js';
import { api, type Api, type Reply, type RequestHeaders } from '../support/http.js';
import { eventually, openStream, type OpenStream } from '../support/sse.js';

const ADMIN = `svc_${'a'.repeat(12)}_${'b'.repeat(32)}`;
const bearer = (key: string): { Authorization: string } => ({ Authorization: `Bearer ${key}` });

let stack: Stack;
let admin: Api;
let nobody: Api;

beforeAll(async () => {
  stack = await startStack({ config: { auth: 'keys' } });
  const hash = createHash('sha256').update(ADMIN).digest();
  await adminAt(stack.databaseUrl, "insert into api_keys (id, name, hash, scope) values ($1, 'root', $2, 'write')", ['a'.repeat(12), hash]);
  admin = api(stack.urls[0]!, bearer(ADMIN));
  nobody = api(stack.urls[0]!);
  for (const dir of ['mine', 'other']) {
    const accepted = await admin.post('/v0/city', { dir, provider: 'loopback' });
    expect(accepted.status).toBe(202);
  }
  await eventually(async () => (await admin.get('/v0/cities')).body.items.every((c: { running: boolean }) => c.running));
});
afterAll(() => stack.stop());

async function makeKey(name: string, more: object): Promise<{ id: string; key: string }> {
  const reply = await admin.post('/v0/keys', { name, ...more });
  expect(reply.status).toBe(201);
  return reply.body as { id: string; key: string };
}

const at = (replica: number, key: string): Api => api(stack.urls[replica]!, bearer(key));
const stream = (replica: number, path: string, key?: string): Promise<OpenStream> =>
  openStream(`${stack.urls[replica]}${path}`, key === undefined ? {} : { headers: bearer(key) });

function expectRefusal(reply: Reply, status: number, code: string): void {
  expect({ status: reply.status, code: reply.body?.code }).toEqual({ status, code });
  expect(reply.headers.get('content-type')).toBe('application/problem+json');
  expect(reply.body.detail.startsWith(`${code}: `)).toBe(true);
}

describe('SVC_AUTH=keys', () => {
  it('lets nobody in without a key, except to the public pages', async () => {
    const document = (await nobody.get('/openapi.json')).body as { paths: Record<string, Record<string, { security?: unknown[] }>> };
    for (const [path, methods] of Object.entries(document.paths)) {
      for (const [method, operation] of Object.entries(methods)) {
        const target = path.replace(/\{\w+\}/g, 'mine');
        const reply = await nobody.send(method.toUpperCase(), target, method === 'get' ? undefined : {});
        if (operation.security?.length === 0) expect({ path, status: reply.status }).toEqual({ path, status: 200 });
        else expectRefusal(reply, 401, 'unauthorized');
      }
    }
    expect((await nobody.get('/docs')).status).toBe(200);
  });

  it('takes a key made on one replica on the other', async () => {
    const { key } = await makeKey('traveller', { scope: 'read' });
    expect((await at(1, key).get('/v0/cities')).body.items).toHaveLength(2);
    expectRefusal(await at(1, key).post('/v0/city', { dir: 'x', provider: 'loopback' }), 403, 'forbidden');
    expectRefusal(await at(1, key).get('/v0/keys'), 403, 'forbidden');
  });

  it('names the key as the actor of the events it causes', async () => {
    const { key } = await makeKey('ci', { scope: 'write' });
    const cursor = (await admin.get('/v0/city/mine/events?limit=1')).headers.get('x-svc-index');
    expect((await at(0, key).patch('/v0/city/mine', { suspended: true })).status).toBe(200);
    const { body } = await admin.get(`/v0/city/mine/events?after_seq=${cursor}`);
    expect(body.items).toEqual([expect.objectContaining({ type: 'city.suspended', actor: 'ci' })]);
  });

  describe('a key limited to a city', () => {
    let key: string;
    beforeAll(async () => {
      ({ key } = await makeKey('local', { scope: 'write', cities: ['mine'] }));
    });

    it('sees only its city in lists, and others as if they did not exist', async () => {
      const client = at(1, key);
      expect((await client.get('/v0/cities')).body.items.map((c: { name: string }) => c.name)).toEqual(['mine']);
      expect((await client.get('/v0/city/mine')).status).toBe(200);
      for (const path of ['/v0/city/other', '/v0/city/other/status', '/v0/city/other/events', '/v0/city/other/events/stream']) {
        const hidden = await client.get(path);
        const absent = await client.get(path.replace('other', 'absent'));
        expect({ path, status: hidden.status }).toEqual({ path, status: 404 });
        expect(hidden.body.detail.replace('other', '')).toBe(absent.body.detail.replace('absent', ''));
      }
      const items = (await client.get('/v0/events')).body.items as { city: string }[];
      expect(items.length).toBeGreaterThan(0);
      expect(items.filter((e) => e.city === 'other')).toEqual([]);
    });

    it('receives only its city on the supervisor stream', async () => {
      const open = await stream(1, '/v0/events/stream', key);
      expect((await admin.post('/v0/city/other/events', { type: 'test.hidden', actor: 'x' })).status).toBe(201);
      expect((await admin.post('/v0/city/mine/events', { type: 'test.shown', actor: 'x' })).status).toBe(201);
      await open.until((f) => f.data?.type === 'test.shown');
      expect(open.frames.filter((f) => f.data?.city === 'other')).toEqual([]);
      await open.close();
    });

    it('may not change other cities or the set of cities', async () => {
      const client = at(0, key);
      expect((await client.post('/v0/city/other/stop')).status).toBe(404);
      // Not even whether another city exists is to be learnt.
      expectRefusal(await client.post('/v0/city/other/unregister'), 403, 'forbidden');
      expectRefusal(await client.post('/v0/city/absent/unregister'), 403, 'forbidden');
      expectRefusal(await client.post('/v0/city', { dir: 'third', provider: 'loopback' }), 403, 'forbidden');
      expectRefusal(await client.post('/v0/keys', { name: 'more' }), 403, 'forbidden');
    });
  });

  it('ends open streams of a revoked key within seconds, on the other replica too', async () => {
    const { id, key } = await makeKey('leaver', { scope: 'read' });
    const streams = await Promise.all([stream(0, '/v0/events/stream', key), stream(1, '/v0/city/mine/events/stream', key)]);
    const stays = await stream(1, '/v0/events/stream', ADMIN);
    expect(streams.map((s) => s.response.status)).toEqual([200, 200]);
    expect((await admin.delete(`/v0/keys/${id}`)).body).toEqual({ status: 'ok' });
    await Promise.all(streams.map((s) => s.untilEnd(6_000)));
    expectRefusal(await at(1, key).get('/v0/cities'), 401, 'unauthorized');
    expect(stays.ended).toBe(false);
    await stays.close();
  });

  // Guard: a read that waits ends with its key.
  it('ends reads that wait with a revoked key, on the other replica too', async () => {
    const { id, key } = await makeKey('waiter', { scope: 'read' });
    const heads = await Promise.all(['events', 'beads', 'sessions'].map((what) => admin.get(`/v0/city/mine/${what}?limit=1`)));
    const paths = ['events', 'beads', 'sessions'].map(
      (what, n) => `/v0/city/mine/${what}?wait=4m&index=${heads[n]!.headers.get('x-svc-index')}`,
    );
    const waiting = paths.flatMap((path) => [0, 1].map((replica) => at(replica, key).get(path)));
    const answered = waiting.map((read) => read.then(() => true));
    expect(await Promise.race([...answered, admin.get('/v0/cities').then(() => false)])).toBe(false);
    await admin.delete(`/v0/keys/${id}`);
    for (const reply of await Promise.all(waiting)) expectRefusal(reply, 401, 'unauthorized');
  });

  it('refuses a stream before its headers', async () => {
    const headers: RequestHeaders = { Accept: 'text/event-stream' };
    expectRefusal(await nobody.get('/v0/events/stream', headers), 401, 'unauthorized');
    expectRefusal(await at(0, 'svc_nonsense').get('/v0/events/stream', headers), 401, 'unauthorized');
  });
});
