import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { adminAt } from '../support/database.js';
import { api, type Api } from '../support/http.js';
import { openStream } from '../support/sse.js';
import { startStack, type Stack } from '../support/app.js';

let stack: Stack;
let a: Api;
let b: Api;

/** A running city without a worker: these tests are about the log. */
async function aCity(name: string): Promise<void> {
  await adminAt(
    stack.databaseUrl,
    `with s as (insert into event_streams (name) values ($1) returning id)
     insert into cities (name, dir, stream_id, running, phase) select $1, '/' || $1, id, true, 'running' from s`,
    [name],
  );
}
const emit = (to: Api, city: string, n: number, more: object = {}, headers = {}) =>
  to.post(`/v0/city/${city}/events`, { type: 'test.tick', actor: 'tester', payload: { n, deep: { a: n % 2 === 0 } }, ...more }, headers);
const numbers = (items: { payload: { n: number } }[]): number[] => items.map((i) => i.payload.n);

async function drain(to: Api, path: string): Promise<{ items: any[]; pages: number }> {
  const items: any[] = [];
  let pages = 0;
  for (let cursor: string | undefined = ''; cursor !== undefined; pages++) {
    const page = await to.get(cursor === '' ? path : `${path}&cursor=${encodeURIComponent(cursor)}`);
    expect(page.status).toBe(200);
    items.push(...page.body.items);
    cursor = page.body.next_cursor;
  }
  return { items, pages };
}

beforeAll(async () => {
  stack = await startStack({ workers: 0 });
  a = api(stack.urls[0]!);
  b = api(stack.urls[1]!);
  for (const name of ['alpha', 'beta']) await aCity(name);
  for (let n = 1; n <= 25; n++) expect((await emit(n % 2 === 0 ? a : b, 'alpha', n)).body).toEqual({ status: 'recorded', seq: n });
  for (let n = 1; n <= 5; n++) await emit(b, 'beta', n, { type: 'test.beta', subject: `s${n}` });
});
afterAll(() => stack.stop());

describe("a city's events", () => {
  it('are listed newest first, with the head in a header and pages that neither shift nor repeat', async () => {
    const first = await a.get('/v0/city/alpha/events?limit=10');
    expect(first.status).toBe(200);
    expect(first.headers.get('content-type')).toMatch(/^application\/json/);
    expect(first.headers.get('x-svc-index')).toBe('25');
    expect(first.headers.get('x-svc-cache-age-s')).toBe('0');
    expect(first.headers.get('x-svc-request-id')).toMatch(/^[0-9a-f]{16}$/);
    expect(first.body.total).toBe(25);
    expect(numbers(first.body.items)).toEqual([25, 24, 23, 22, 21, 20, 19, 18, 17, 16]);
    await emit(a, 'alpha', 26);
    const second = await b.get(`/v0/city/alpha/events?limit=10&cursor=${first.body.next_cursor}`);
    expect(numbers(second.body.items)).toEqual([15, 14, 13, 12, 11, 10, 9, 8, 7, 6]);
    const { seq, ts, type, actor } = first.body.items[0];
    expect({ seq, type, actor }).toEqual({ seq: 25, type: 'test.tick', actor: 'tester' });
    expect(ts).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$/);
  });

  it('can be filtered by kind, actor, subject, time and payload', async () => {
    const get = async (query: string) => (await a.get(`/v0/city/beta/events?${query}`)).body.items;
    expect(numbers(await get('type=test.beta&subject=s3'))).toEqual([3]);
    expect(await get('actor=nobody')).toEqual([]);
    expect(await get('until=1h')).toEqual([]);
    expect(numbers(await get('since=1h30m&limit=2'))).toEqual([5, 4]);
    expect(numbers(await get('payload_match=deep.a=true'))).toEqual([4, 2]);
    expect(numbers(await get('payload_match=n=1&payload_match=n=2'))).toEqual([2, 1]);
    expect(numbers(await get('payload_match=n=1&payload_match=deep.a=true'))).toEqual([]);
  });

  it('are listed upwards from a position', async () => {
    const { items, pages } = await drain(a, '/v0/city/alpha/events?after_seq=20&limit=3');
    expect(items.map((i) => i.seq)).toEqual([21, 22, 23, 24, 25, 26]);
    expect(pages).toBe(2);
  });

  it('can be waited for, on the other replica', async () => {
    const head = Number((await a.get('/v0/city/beta/events?limit=1')).headers.get('x-svc-index'));
    const waiting = b.get(`/v0/city/beta/events?index=${head}&wait=60s&limit=1`);
    setTimeout(() => void emit(a, 'beta', 99), 150);
    const answer = await waiting;
    expect(Number(answer.headers.get('x-svc-index'))).toBe(head + 1);
    expect(numbers(answer.body.items)).toEqual([99]);
    const expired = await b.get(`/v0/city/beta/events?index=${head + 1}&wait=100ms&limit=1`);
    expect(numbers(expired.body.items)).toEqual([99]);
    expect((await b.get('/v0/city/beta/events?index=0&limit=1')).status).toBe(200);
  });

  it.each([
    ['limit=-1', 422, 'validation_failed'],
    ['limit=1001', 422, 'validation_failed'],
    ['index=x', 422, 'validation_failed'],
    ['index=1&wait=never', 422, 'validation_failed'],
    ['wait=-1s', 422, 'validation_failed'],
    ['nope=1', 422, 'validation_failed'],
    ['payload_match=novalue', 422, 'validation_failed'],
    ['since=tomorrow', 400, 'invalid'],
    ['cursor=v0:zzz', 400, 'invalid_cursor'],
    ['after_seq=1.5', 400, 'invalid_cursor'],
    ['after_seq=100000', 410, 'cursor_ahead'],
  ])('refuses %s', async (query, status, prefix) => {
    const answer = await a.get(`/v0/city/alpha/events?${query}`);
    expect(answer.status).toBe(status);
    expect(answer.headers.get('content-type')).toMatch(/^application\/problem\+json/);
    const code = prefix === 'invalid' ? 'invalid-request' : prefix.replaceAll('_', '-');
    expect(answer.body).toMatchObject({ status, code, type: `urn:supervisor:error:${code}` });
    expect(answer.body.detail).toMatch(new RegExp(`^${prefix}: `));
  });

  it('are not found for an unknown city, but only once the request is valid', async () => {
    const answer = await a.get('/v0/city/nowhere/events');
    expect(answer.status).toBe(404);
    expect(answer.body.detail).toBe('not_found: city not found or not running: nowhere');
    expect((await a.get('/v0/city/nowhere/events?limit=-1')).status).toBe(422);
    expect((await emit(a, 'nowhere', 1)).body.detail).toBe('not_found: city not found or not running: nowhere');
  });
});

describe("the supervisor's events", () => {
  it('are one list in one order, with a cursor that a stream continues without a gap', async () => {
    const page = await a.get('/v0/events?limit=4');
    expect(page.status).toBe(200);
    expect(page.body.event_cursor).toMatch(/^__supervisor__:\d+,alpha:\d+,beta:\d+$/);
    const { items } = await drain(b, '/v0/events?limit=7');
    const times = items.map((i) => i.ts);
    expect(times).toEqual([...times].sort().reverse());
    expect(items.length).toBe(page.body.total);
    const stream = await openStream(`${stack.urls[1]}/v0/events/stream?after_cursor=${encodeURIComponent(page.body.event_cursor)}`);
    const { body } = await emit(a, 'alpha', 1_000);
    const frame = await stream.until((f) => f.event === 'tagged_event');
    expect(frame.data).toMatchObject({ city: 'alpha', seq: body.seq });
    await stream.close();
  });

  it('are listed upwards from a cursor, each once', async () => {
    const { items, pages } = await drain(a, '/v0/events?after_cursor=alpha:20,beta:2&limit=3');
    const alpha = items.filter((i) => i.city === 'alpha').map((i) => i.seq);
    expect(alpha).toEqual(Array.from({ length: alpha.length }, (_, i) => 21 + i));
    expect(items.filter((i) => i.city === 'beta').map((i) => i.seq)).toEqual([3, 4, 5, 6]);
    expect(pages).toBe(Math.ceil(items.length / 3));
  });

  it('can be limited to some cities', async () => {
    const { items } = await drain(a, '/v0/events?cities=beta,gamma&limit=100');
    expect(new Set(items.map((i) => i.city))).toEqual(new Set(['beta']));
  });

  it('refuses malformed positions', async () => {
    expect(await a.get('/v0/events?after_cursor=alpha:99999')).toMatchObject({ status: 410, body: { code: 'cursor-ahead' } });
    for (const query of ['after_cursor=alpha', 'cursor=x', 'after_cursor=~q.!']) {
      expect(await a.get(`/v0/events?${query}`)).toMatchObject({ status: 400, body: { code: 'invalid-cursor' } });
    }
  });
});

describe('emitting and rotating', () => {
  it('records a key once, over replicas', async () => {
    const answers = await Promise.all(
      Array.from({ length: 20 }, (_, i) => emit(i % 2 ? a : b, 'beta', 7, {}, { 'Idempotency-Key': 'once' })),
    );
    expect(new Set(answers.map((x) => x.text)).size).toBe(1);
    expect(answers[0]!.status).toBe(201);
    const other = await emit(a, 'beta', 8, {}, { 'Idempotency-Key': 'once' });
    expect(other).toMatchObject({ status: 422, body: { code: 'idempotency-mismatch' } });
  });

  it.each([
    [{ actor: 'a' }, 'body.type'],
    [{ type: '', actor: 'a' }, 'body.type'],
    [{ type: 'x', actor: '' }, 'body.actor'],
    [{ type: 'x', actor: 'a', more: 1 }, 'body.more'],
    [{ type: 'request.failed', actor: 'a' }, 'body.type'],
    [{ type: 'mail.sent', actor: 'a' }, 'body.payload.rig'],
    [{ type: 'x', actor: 'a', payload: [] }, 'body.payload'],
    [{ type: 'x', actor: 'a', message: 'a\0b' }, 'body'],
  ])('refuses %j', async (body, location) => {
    const answer = await a.post('/v0/city/alpha/events', body);
    expect(answer.status).toBe(422);
    expect(answer.body.errors.map((e: { location: string }) => e.location)).toContainEqual(expect.stringContaining(location));
  });

  it('never answers a 5xx to hostile payloads', async () => {
    const deep = `{"type":"x","actor":"a","payload":{"a":${'['.repeat(20_000)}${']'.repeat(20_000)}}}`;
    for (const body of [
      deep,
      '{"type":"x","actor":"a","payload":{"n":1e999}}',
      '{"type":"x","actor":"a","subject":"\\ud800"}',
      '{"type":"x","actor":"a","payload":{"__proto__":{"a":1}}}',
    ]) {
      expect((await a.post('/v0/city/alpha/events', body)).status).toBeLessThan(500);
    }
    expect((await a.get('/v0/city/alpha/events?payload_match=a.b.c=1')).status).toBe(200);
  });

  it('seals the active log and goes on with its anchor', async () => {
    const sealed = await a.post('/v0/city/beta/events/rotate?wait=true');
    expect(sealed.status).toBe(200);
    const { archive, anchor_event: anchor } = sealed.body;
    expect(archive).toMatchObject({ first_seq: 1, compression_status: 'complete', path: `beta/events-1-${archive.last_seq}` });
    expect(anchor).toMatchObject({ seq: archive.last_seq + 1, type: 'events.rotated' });
    const [newest] = (await b.get('/v0/city/beta/events?limit=1')).body.items;
    expect(newest).toMatchObject({
      seq: anchor.seq,
      payload: { prior_archive: archive.path, prior_first_seq: 1, prior_last_seq: archive.last_seq },
    });
  });
});
