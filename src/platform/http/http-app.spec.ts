import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { PROBLEMS } from '../../contract/problems.js';
import type { Server, ServerResponse } from 'node:http';
import { connect, type Socket } from 'node:net';
import { once } from 'node:events';
import { networkInterfaces } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
import { api, type Api, type Reply } from '../../../test/support/http.js';
import { eventually } from '../../../test/support/sse.js';
import { Lifecycle } from '../health/lifecycle.js';
import { BatchedResponse } from './batched-response.js';
import { HELD, openDoor, type Door } from './testing/front-door.js';

const own = Object.values(networkInterfaces()).flatMap((each) => each ?? []);
const hosts = own.filter(({ internal }) => !internal).map(({ address, family }) => (family === 'IPv6' ? `[${address}]` : address));

const REQUEST_ID = /^[0-9a-f]{16}$/;

/** Everything that must hold for any refusal. */
function expectProblem(reply: Reply, status: number, prefix: string, detail: string): void {
  expect({ status: reply.status, type: reply.headers.get('content-type') }).toEqual({ status, type: 'application/problem+json' });
  expect(reply.body.detail.startsWith(`${prefix}: ${detail}`) ? true : reply.body.detail).toBe(true);
  const { code, title } = Object.values(PROBLEMS).find((kind) => kind.prefix === prefix && kind.title === reply.body.title)!;
  expect(reply.body).toMatchObject({ type: `urn:supervisor:error:${code}`, code, title, status });
  expect(reply.headers.get('x-svc-request-id')).toMatch(REQUEST_ID);
  expect(reply.body.instance).toBe(`urn:supervisor:request:${reply.headers.get('x-svc-request-id')}`);
  expect(reply.headers.get('vary')).toBe('Origin');
}

function raw(port: number, text: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = connect(port, '127.0.0.1', () => socket.write(text));
    let got = '';
    socket.setTimeout(5_000, () => socket.destroy(new Error(`no end: ${got}`)));
    socket.on('data', (chunk) => (got += chunk.toString()));
    socket.on('close', () => resolve(got));
    socket.on('error', reject);
  });
}

describe('the front door', () => {
  let door: Door;
  let client: Api;
  beforeAll(async () => {
    door = await openDoor({ allowedHosts: ['svc.example.com:8372'], allowedOrigins: ['https://app.example.com'] });
    client = api(door.url);
  });
  afterAll(() => door.close());

  it('gives every response a request id of its own and ignores an inbound one', async () => {
    const first = await client.get('/health', { 'X-SVC-Request-Id': 'mine' });
    const second = await client.get('/health');
    expect(first.headers.get('x-svc-request-id')).toMatch(REQUEST_ID);
    expect(first.headers.get('x-svc-request-id')).not.toBe(second.headers.get('x-svc-request-id'));
  });

  it('puts the request id on a hijacked stream too', async () => {
    const reply = await client.get('/v0/stream');
    expect(reply.headers.get('content-type')).toBe('text/event-stream');
    expect(reply.headers.get('x-svc-request-id')).toMatch(REQUEST_ID);
    expect(reply.headers.get('vary')).toBe('Origin');
  });

  it('has statements of those prepared that say so', async () => {
    expect((await client.get('/v0/planned')).body).toEqual({ prepared: true });
    expect((await client.get('/v0/unplanned')).body).toEqual({ prepared: false });
  });

  it('sends what one turn of the event loop has answered together', async () => {
    const server = door.app.getHttpServer() as Server;
    const asked = once(server, 'request');
    await client.get('/health');
    expect((await asked)[1]).toBeInstanceOf(BatchedResponse);
  });

  it('sends prepared JSON text unchanged', async () => {
    const reply = await client.get('/v0/text');
    expect(reply.text).toBe('{"made":"elsewhere"}');
    expect(reply.headers.get('content-type')).toContain('application/json');
  });

  it.each(['evil.com', 'localhost.', '0.0.0.0', '10.0.0.1', '127.1', '127.0.0.256', '127.0.0.01', 'user@localhost'])(
    'refuses the Host %j',
    async (host) => {
      expectProblem(await client.get('/health', { Host: host }), 421, 'host_not_allowed', 'supervisor Host header is not allowed');
    },
  );

  it.each([
    ['a second Host line', 'GET /health HTTP/1.1\r\nHost: localhost\r\nHost: evil.com'],
    ['a host in the target', 'GET http://evil.com/health HTTP/1.1\r\nHost: localhost'],
  ])('refuses %s, whatever the first says', async (_, head) => {
    expect(await raw(door.port, `${head}\r\nConnection: close\r\n\r\n`)).toMatch(/^HTTP\/1.1 (400|421) /);
  });

  it.each([
    ['says nothing of it', ''],
    ['names its type', 'Content-Type: application/json\r\n'],
    ['names a type that is not taken', 'Content-Type: text/plain\r\n'],
    ['says that it has none', 'Content-Type: application/json\r\nContent-Length: 0\r\n'],
    ['ends it at once', 'Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n'],
  ])('answers a request whose body is missing, and that %s', async (_, lines) => {
    const end = lines.includes('chunked') ? '0\r\n\r\n' : '';
    const head = 'POST /v0/things HTTP/1.1\r\nHost: localhost\r\nX-SVC-Request: 1\r\nConnection: close\r\n';
    const answer = await raw(door.port, `${head}${lines}\r\n${end}`);
    expect(answer).toMatch(/^HTTP\/1.1 422 /);
  });

  it('keeps a connection in order after requests without a body, sent at once', async () => {
    const get = (id: string, last = ''): string => `GET /v0/things/${id} HTTP/1.1\r\nHost: localhost\r\n${last}\r\n`;
    const answers = await raw(door.port, `${get('a')}${get('b')}${get('c', 'Connection: close\r\n')}`);
    expect([...answers.matchAll(/"id":"(\w)"/g)].map(([, id]) => id)).toEqual(['a', 'b', 'c']);
  });

  it.each(['LOCALHOST:1', '127.9.8.7', '[::1]:80', '[::ffff:127.0.0.1]', 'SVC.example.com', 'svc.example.com:1'])(
    'allows the Host %j',
    async (host) => {
      expect((await client.get('/health', { Host: host })).status).toBe(200);
    },
  );

  it('refuses a wrong Host before anything else, on unknown paths as well', async () => {
    expect((await client.post('/v0/things', {}, { Host: 'evil.com', 'X-SVC-Request': undefined })).status).toBe(421);
    expect((await client.get('/nope', { Host: 'evil.com' })).status).toBe(421);
    expect((await client.get('/%zz', { Host: 'evil.com' })).status).toBe(421);
  });

  it('answers every OPTIONS with 204 and tells allowed origins what they may do', async () => {
    const allowed = await client.send('OPTIONS', '/v0/things', undefined, { Origin: 'https://app.example.com' });
    expect(allowed.status).toBe(204);
    expect(allowed.headers.get('access-control-allow-origin')).toBe('https://app.example.com');
    expect(allowed.headers.get('access-control-allow-headers')).toContain('Idempotency-Key');
    expect(allowed.headers.get('access-control-allow-headers')).toContain('Authorization');
    expect(allowed.headers.get('access-control-expose-headers')).toContain('X-SVC-Index');
    const refused = await client.send('OPTIONS', '/nope', undefined, { Origin: 'https://evil.com' });
    expect(refused.status).toBe(204);
    expect(refused.headers.get('access-control-allow-origin')).toBeNull();
    expect(refused.headers.get('vary')).toBe('Origin');
  });

  it('lets a strange origin read nothing and change nothing', async () => {
    const read = await client.get('/health', { Origin: 'https://evil.com' });
    expect(read.headers.get('access-control-allow-origin')).toBeNull();
    for (const origin of ['https://evil.com', 'null', 'http://localhost.evil.com']) {
      expectProblem(await client.post('/v0/things', { name: 'a' }, { Origin: origin }), 403, 'origin_not_allowed', 'pages of');
    }
    expect((await client.post('/v0/things', { name: 'a' }, { Origin: 'http://localhost:5173' })).status).toBe(201);
    const own = { Origin: 'https://svc.example.com', Host: 'svc.example.com' };
    expect((await client.post('/v0/things', { name: 'a' }, own)).status).toBe(201);
  });

  it.each([undefined, ''])('demands the anti-CSRF header on mutations (%j)', async (value) => {
    const reply = await client.post('/v0/things', '{', { 'X-SVC-Request': value });
    expectProblem(reply, 403, 'csrf', 'X-SVC-Request header required on mutation endpoints');
  });

  it('answers unknown paths with 404 and known paths with 405, whatever the body', async () => {
    expectProblem(await client.get('/nope'), 404, 'not_found', 'no such path: /nope');
    expectProblem(await client.post('/nope', 'x', { 'Content-Type': 'text/plain', 'X-SVC-Request': undefined }), 404, 'not_found', '');
    expectProblem(await client.get('/v0/things/'), 404, 'not_found', '');
    expectProblem(await client.get('/HEALTH'), 404, 'not_found', '');
    const reply = await client.delete('/v0/things/1');
    expectProblem(reply, 405, 'method_not_allowed', 'allowed here: GET, HEAD, OPTIONS');
    expect(reply.headers.get('allow')).toBe('GET, HEAD, OPTIONS');
  });

  it('answers HEAD like GET, but opens no stream for it', async () => {
    expect((await client.send('HEAD', '/health')).status).toBe(200);
    expect((await client.send('HEAD', '/v0/stream')).status).toBe(405);
  });

  it.each([
    ['not JSON', '{"name":', 'application/json', 400, 'validation_failed'],
    ['another content type', 'name=a', 'application/x-www-form-urlencoded', 415, 'validation_failed'],
    ['plain text', 'a', 'text/plain', 415, 'validation_failed'],
    ['no content type', '{}', '', 415, 'validation_failed'],
    ['too large', `{"name":"${'x'.repeat(1024 * 1024)}"}`, 'application/json', 413, 'payload_too_large'],
    ['a NUL character', '{"name":"a\\u0000"}', 'application/json', 422, 'validation_failed'],
    ['a lone surrogate', '{"name":"\\ud800"}', 'application/json', 422, 'validation_failed'],
    ['absurd nesting', `{"name":"a","extra":${'['.repeat(5000)}${']'.repeat(5000)}}`, 'application/json', 422, 'validation_failed'],
    ['__proto__', '{"name":"a","__proto__":{}}', 'application/json', 422, 'validation_failed'],
    ['nothing', '', 'application/json', 422, 'validation_failed'],
    ['nothing, of the type of a form', '', 'application/x-www-form-urlencoded', 422, 'validation_failed'],
  ])('refuses a body that is %s', async (_name, body, type, status, code) => {
    expectProblem(await client.post('/v0/things', body, { 'Content-Type': type === '' ? undefined : type }), status, code, '');
  });

  describe('a client that still sends when its answer is there', () => {
    const MIB = 1024 * 1024;
    const head = (length: string, more = 'X-SVC-Request: 1'): string =>
      ['POST /v0/things HTTP/1.1', 'Host: localhost', 'Content-Type: application/json', length, more, '', ''].join('\r\n');

    /** Sends a body piece by piece, then asks for more on the same connection. */
    async function sendSlowly(start: string, size: number, piece: (n: number) => Buffer): Promise<{ got: string; failed?: Error }> {
      const socket = connect(Number(new URL(door.url).port), '127.0.0.1');
      let got = '';
      let failed: Error | undefined;
      socket.on('data', (chunk) => (got += chunk.toString()));
      socket.on('error', (error) => (failed = error));
      const closed = once(socket, 'close').catch(() => undefined);
      await once(socket, 'connect');
      socket.write(start);
      // The answer is there before the body.
      await sleep(50);
      for (let sent = 0; sent < size && !socket.destroyed; sent += MIB / 4) {
        if (!socket.write(piece(MIB / 4))) await Promise.race([once(socket, 'drain').catch(() => undefined), closed]);
      }
      if (start.includes('chunked')) socket.write('0\r\n\r\n');
      socket.end('GET /health HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n');
      await closed;
      return failed === undefined ? { got } : { got, failed };
    }
    const plain = (n: number): Buffer => Buffer.alloc(n, 'x');
    const chunk = (n: number): Buffer => Buffer.concat([Buffer.from(`${n.toString(16)}\r\n`), plain(n), Buffer.from('\r\n')]);

    it.each([
      ['too much', head(`Content-Length: ${4 * MIB}`), plain, 413],
      ['too much without saying how much', head('Transfer-Encoding: chunked'), chunk, 413],
      ['what is not wanted', head(`Content-Length: ${4 * MIB}`, 'X-Other: 1'), plain, 403],
      ['what is not wanted, without saying how much', head('Transfer-Encoding: chunked', 'X-Other: 1'), chunk, 403],
    ])('gets to read it, and goes on: %s', async (_what, start, piece, status) => {
      const { got, failed } = await sendSlowly(start, 4 * MIB, piece);
      expect(failed).toBeUndefined();
      expect([...got.matchAll(/HTTP\/1\.1 (\d+)/g)].map(([, one]) => Number(one))).toEqual([status, 200]);
    });

    it.each([
      [413, undefined],
      [403, 'X-Other: 1'],
    ])('is not listened to for ever: %i', async (status, more) => {
      const { got } = await sendSlowly(head(`Content-Length: ${64 * MIB}`, more), 64 * MIB, plain);
      expect([...got.matchAll(/HTTP\/1\.1 (\d+)/g)].map(([, one]) => Number(one))).toEqual([status]);
    });
  });

  it('lists every failing member of a body', async () => {
    const reply = await client.post('/v0/things', { name: '', size: 'x', more: 1 });
    expectProblem(reply, 422, 'validation_failed', 'validation failed');
    const found = (reply.body.errors as { location: string; value: unknown }[]).map(({ location, value }) => [location, value]);
    expect(found).toEqual([
      ['body.name', ''],
      ['body.size', 'x'],
      ['body.more', 1],
    ]);
    const many = Object.fromEntries(Array.from({ length: 1_000 }, (_, i) => [`more${i}`, i]));
    expect((await client.post('/v0/things', { ...many, name: '', size: 'x' })).body.errors).toHaveLength(50);
  });

  it('validates queries and path parameters', async () => {
    const reply = await client.get('/v0/things/1?limit=-1&lite=maybe&text=a&text=b&zz=1');
    expectProblem(reply, 422, 'validation_failed', 'validation failed');
    expect(reply.body.errors.map((e: { location: string }) => e.location).sort()).toEqual([
      'query.limit',
      'query.lite',
      'query.text',
      'query.zz',
    ]);
    const path = await client.get(`/v0/things/${'x'.repeat(30)}`);
    expect(path.body.errors[0].location).toBe('path.id');
    const none = await client.get('/health?verbose=1');
    expectProblem(none, 422, 'validation_failed', 'validation failed');
    expect(none.body.errors).toEqual([{ message: 'unexpected property', location: 'query.verbose' }]);
  });

  it('turns queries into values and takes an empty one for absent', async () => {
    const reply = await client.get('/v0/things/1?limit=&lite=1&items=a,b&items=c&text=');
    expect(reply.body.query).toEqual({ limit: 5, lite: true, items: ['a', 'b', 'c'] });
  });

  it('refuses what cannot be decoded, stored or held', async () => {
    expectProblem(await client.get('/v0/things/%zz'), 400, 'bad_request', '');
    expectProblem(await client.get('/v0/things/1?text=%ff'), 400, 'bad_request', '');
    expectProblem(await client.get('/v0/things/a%00b'), 422, 'validation_failed', '');
    expectProblem(await client.get('/v0/things/1?text=%00'), 422, 'validation_failed', '');
    expectProblem(await client.get(`/v0/things/${'x'.repeat(2000)}`), 414, 'uri_too_long', '');
    expectProblem(await client.get(`/v0/things/1?text=${'x'.repeat(600 * 1024)}`), 414, 'uri_too_long', '');
  });

  it('answers what the HTTP parser refuses with problems as well', async () => {
    const malformed = await raw(door.port, 'GET / HTTP/1.1\r\nbad header\r\n\r\n');
    expect(malformed).toMatch(
      /^HTTP\/1.1 400 [^]*Content-Type: application\/problem\+json[^]*X-SVC-Request-Id: [0-9a-f]{16}[^]*"code":"bad-request"/,
    );
    const large = await raw(door.port, `GET /health HTTP/1.1\r\nHost: localhost\r\nX: ${'x'.repeat(1100 * 1024)}\r\n\r\n`).catch(String);
    expect(large).toMatch(/^HTTP\/1.1 431 [^]*"code":"headers-too-large"|ECONNRESET|EPIPE/);
    const hostless = await raw(door.port, 'GET /health HTTP/1.1\r\nConnection: close\r\n\r\n');
    expect(hostless).toMatch(/^HTTP\/1.1 421 /);
    const empty = await raw(door.port, 'GET /health HTTP/1.1\r\nHost:\r\nConnection: close\r\n\r\n');
    expect(empty).toMatch(/^HTTP\/1.1 421 /);
    const expecting = await raw(door.port, 'GET /health HTTP/1.1\r\nHost: localhost\r\nExpect: a-miracle\r\nConnection: close\r\n\r\n');
    expect(expecting).toMatch(/^HTTP\/1.1 200 /);
  });

  it('renders problems, translated errors and bugs', async () => {
    expectProblem(await client.post('/v0/things', { name: 'taken' }), 409, 'conflict', 'taken: taken');
    const busy = await client.post('/v0/things', { name: 'busy' });
    expectProblem(busy, 503, 'unavailable', 'try again');
    expect(busy.headers.get('retry-after')).toBe('1');
    const bug = await client.post('/v0/things', { name: 'bug' });
    expectProblem(bug, 500, 'internal', 'internal server error');
    expect(bug.text).not.toContain('secret');
  });

  it('takes an Idempotency-Key of 1 to 255 visible characters, empty meaning none', async () => {
    expect((await client.post('/v0/things', { name: 'a' }, { 'Idempotency-Key': 'k-1' })).body.key).toBe('k-1');
    expect((await client.post('/v0/things', { name: 'a' }, { 'Idempotency-Key': '' })).body.key).toBeNull();
    for (const key of ['a b', 'x'.repeat(256), 'ü']) {
      const reply = await client.post('/v0/things', { name: 'a' }, { 'Idempotency-Key': key });
      expectProblem(reply, 422, 'validation_failed', '');
    }
  });
});

describe('read-only mode', () => {
  it('refuses mutations when open to the network without keys, after the anti-CSRF check', async () => {
    const door = await openDoor({ host: '0.0.0.0' });
    const client = api(door.url);
    expectProblem(await client.post('/v0/things', '{'), 403, 'read_only', 'mutations disabled: server bound to non-localhost address');
    expect((await client.post('/v0/things', {}, { 'X-SVC-Request': undefined })).body.code).toBe('csrf');
    expect((await client.post('/nope', {})).status).toBe(404);
    expect((await client.get('/v0/things/1')).status).toBe(200);
    await door.close();
  });
});

describe('SVC_AUTH=keys', () => {
  let door: Door;
  let client: Api;
  beforeAll(async () => {
    door = await openDoor({ auth: 'keys', host: '0.0.0.0' });
    client = api(door.url);
  });
  afterAll(() => door.close());
  const bearer = (token: string): Record<string, string> => ({ Authorization: `Bearer ${token}` });

  it('demands a key, except for public operations', async () => {
    for (const headers of [{}, bearer('svc_unknown'), { Authorization: 'Basic eDp5' }, { Authorization: 'Bearer' }]) {
      const reply = await client.get('/v0/things/1', headers);
      expectProblem(reply, 401, 'unauthorized', '');
      expect(reply.headers.get('www-authenticate')).toBe('Bearer');
    }
    expect((await client.get('/health')).status).toBe(200);
    expect((await client.get('/health', { Host: 'evil.com' })).status).toBe(421);
  });

  // What scrapes a container calls it by its address. Guard: a service of one machine that answers to another name of it.
  (hosts.length > 0 ? it : it.skip)('answers to the addresses of the machine where it listens to the network, and only there', async () => {
    const alone = await openDoor({ host: '127.0.0.1' });
    for (const host of hosts) {
      expect((await client.get('/health', { Host: `${host}:8372` })).status).toBe(200);
      expect((await api(alone.url).get('/health', { Host: `${host}:8372` })).status).toBe(421);
    }
    await alone.close();
    expect((await client.get('/health', { Host: '203.0.113.7' })).status).toBe(421);
  });

  it('hands the caller to the handler', async () => {
    expect((await client.get('/v0/things/1', bearer('svc_write'))).body.caller).toEqual({ actor: 'writer', keyId: 'w', scope: 'write' });
    expect((await client.get('/v0/things/1', bearer('svc_read'))).body.caller.cities).toEqual(['one']);
  });

  it('asks a key for the right that an operation needs, also for a read', async () => {
    const reader = await client.post('/v0/things', { name: 'a' }, bearer('svc_read'));
    expectProblem(reader, 403, 'forbidden', 'the API key lacks the right "operate"');
    expectProblem(await client.get('/v0/done', bearer('svc_operate')), 403, 'forbidden', 'the API key lacks the right "audit"');
    expect((await client.get('/v0/done', bearer('svc_write'))).status).toBe(200);
    expect((await client.post('/v0/things', { name: 'a' }, bearer('svc_write'))).status).toBe(201);
    expect((await client.post('/v0/things', { name: 'a' }, bearer('svc_operate'))).status).toBe(201);
    const builder = await client.post('/v0/things', { name: 'a' }, bearer('svc_configure'));
    expectProblem(builder, 403, 'forbidden', 'the API key lacks the right "operate"');
    expect((await client.post('/v0/things', { name: 'a' }, { ...bearer('svc_write'), 'X-SVC-Request': undefined })).body.code).toBe('csrf');
  });

  it('reads no body of a key that is not of all cities, or has not every right, where both are needed', async () => {
    const why = 'keys are managed with a write key that is not limited to cities';
    for (const key of ['svc_read', 'svc_operate', 'svc_one'])
      expectProblem(await client.post('/v0/administered', { unfit: true }, bearer(key)), 403, 'forbidden', why);
    expect((await client.post('/v0/administered', { unfit: true }, bearer('svc_write'))).status).toBe(422);
    expect((await client.post('/v0/administered', { name: 'a' }, bearer('svc_write'))).status).toBe(201);
    for (const key of ['svc_read', 'svc_one'])
      expectProblem(await client.get('/v0/everywhere', bearer(key)), 403, 'forbidden', 'the API key is limited to cities');
    for (const key of ['svc_operate', 'svc_write']) expect((await client.get('/v0/everywhere', bearer(key))).status).toBe(200);
  });

  it('answers 503, not 401, when keys cannot be checked', async () => {
    expectProblem(await client.get('/v0/things/1', bearer('svc_down')), 503, 'unavailable', 'try again');
  });

  it('knows the caller also where none is demanded, and waits for no database that hangs', async () => {
    expect((await client.get('/health', bearer('svc_write'))).body.actor).toBe('writer');
    const nobody = (await client.get('/health')).body;
    for (const key of ['svc_unknown', 'svc_down', 'svc_broken', 'svc_late'])
      expect([key, (await client.get('/health', bearer(key))).body]).toEqual([key, nobody]);
    HELD.letGo();
  });

  it('takes no target with a key that it refuses without one', async () => {
    for (const headers of [{}, bearer('svc_write')])
      expectProblem(await client.get('/health?a=%zz', headers), 400, 'bad_request', 'the query has a malformed percent-encoding');
  });
});

describe('a key that asks too much', () => {
  let door: Door;
  let client: Api;
  const KEYED = { authorization: 'Bearer svc_read' };
  beforeAll(async () => {
    const never = { perSecond: 0.000_001, burst: 3 };
    door = await openDoor({ auth: 'keys', rateLimits: { key: never, city: never }, streamLimits: { key: 1, city: 1 } });
    client = api(door.url);
  });
  afterAll(() => door.close());

  it('is refused before its body is read, while others and probes are not', async () => {
    for (let n = 0; n < 3; n++) expect((await client.get('/v0/things/1', KEYED)).status).toBe(200);
    const refused = await client.get('/v0/things/1', KEYED);
    expectProblem(refused, 429, 'rate_limited', 'too many requests of this key: 3 requests at once');
    expect(refused.headers.get('ratelimit-policy')).toBe('"key";q=3;w=3000000');
    expect(refused.headers.get('ratelimit')).toBe(`"key";r=0;t=${refused.headers.get('retry-after')}`);
    const head =
      'POST /v0/things HTTP/1.1\r\nHost: localhost\r\nX-SVC-Request: 1\r\nContent-Type: application/json\r\nContent-Length: 9\r\n';
    for (let n = 0; n < 3; n++) await client.post('/v0/things', { name: 'a' }, { authorization: 'Bearer svc_write' });
    const answer = await new Promise<string>((resolve) => {
      const socket = connect(door.port, '127.0.0.1', () => socket.write(`${head}Authorization: Bearer svc_write\r\n\r\n`));
      socket.once('data', (chunk) => {
        resolve(chunk.toString());
        socket.destroy();
      });
    });
    expect(answer).toMatch(/^HTTP\/1.1 429 /);
    for (let n = 0; n < 10; n++) expect((await client.get('/health')).status).toBe(200);
  });
});

describe('a key that holds many streams', () => {
  it('may open one more when one has ended', async () => {
    const door = await openDoor({ streamLimits: { key: 2, city: 2 } });
    try {
      const client = api(door.url);
      const open = [0, 1].map(() => connect(door.port, '127.0.0.1'));
      for (const socket of open) {
        socket.write('GET /v0/endless HTTP/1.1\r\nHost: localhost\r\n\r\n');
        await once(socket, 'data');
      }
      expectProblem(
        await client.get('/v0/stream'),
        429,
        'rate_limited',
        'too many requests of this key: 2 streams open at once, reads that wait among them',
      );
      expect((await client.get('/v0/things/1')).status).toBe(200);
      open[0]!.destroy();
      await eventually(async () => (await client.get('/v0/stream')).status === 200);
      // What has ended by itself does not count either.
      for (let n = 0; n < 5; n++) await eventually(async () => (await client.get('/v0/stream')).status === 200);
      open[1]!.destroy();
    } finally {
      await door.close();
    }
  });

  it('holds none for a client that has left: while its key was read, or behind another request of its connection', async () => {
    const door = await openDoor({ auth: 'keys', streamLimits: { key: 1, city: 1 } });
    const server = door.app.getHttpServer() as Server;
    const gone = async (key: string, ...paths: string[]): Promise<void> => {
      const accepted = once(server, 'connection') as Promise<[Socket]>;
      const client = connect(door.port, '127.0.0.1');
      for (const path of paths) client.write(`GET ${path} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${key}\r\n\r\n`);
      await eventually(() => HELD.names.length === 1);
      client.destroy();
      const [socket] = await accepted;
      if (!socket.destroyed) await once(socket, 'close');
      HELD.letGo();
    };
    const by = { authorization: 'Bearer svc_write' };
    try {
      await gone('svc_late', '/v0/endless');
      expect((await api(door.url).get('/v0/stream', by)).status).toBe(200);
      await gone('svc_write', '/v0/city/one/held', '/v0/endless');
      await eventually(async () => (await api(door.url).get('/v0/stream', by)).status === 200);
    } finally {
      await door.close();
    }
  });
});

describe('an orderly stop', () => {
  it('refuses new connections, lets what is running end, then closes', async () => {
    const door = await openDoor();
    const lifecycle = door.app.get(Lifecycle);
    let heldUp = true;
    lifecycle.onStop('streams', 'the test', async () => {
      await expect(api(door.url).get('/health')).rejects.toThrow(/ECONNREFUSED/);
      heldUp = false;
    });
    await lifecycle.stop();
    expect(heldUp).toBe(false);
    expect((door.app.getHttpServer() as Server).listening).toBe(false);
  });

  it('takes away what a request needs only after the request has been answered', async () => {
    const door = await openDoor();
    const order: string[] = [];
    const arrived = new Promise<ServerResponse>((resolve) =>
      (door.app.getHttpServer() as Server).once('request', (_request, response) => resolve(response)),
    );
    const answered = api(door.url).post('/v0/things', { name: 'slow' });
    (await arrived).once('finish', () => order.push('answered'));
    door.app.get(Lifecycle).onStop('worker', 'the test', () => void order.push('worker stopped'));
    await door.app.get(Lifecycle).stop();
    expect(order).toEqual(['answered', 'worker stopped']);
    expect((await answered).status).toBe(201);
  });

  it('is not kept waiting by a connection that stays open', async () => {
    const door = await openDoor();
    const accepted = once(door.app.getHttpServer() as Server, 'connection') as Promise<[Socket]>;
    const idle = connect(door.port, '127.0.0.1');
    const [socket] = await accepted;
    idle.write('GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n');
    await new Promise((resolve) => idle.once('data', resolve));
    const closed = new Promise((resolve) => idle.once('close', resolve));
    idle.on('error', () => undefined);
    // The phase before this one would have waited for it until its limit, and left it open.
    let openLater: boolean | undefined;
    door.app.get(Lifecycle).onStop('worker', 'the test', () => void (openLater = !socket.destroyed));
    await door.app.get(Lifecycle).stop();
    await closed;
    expect(openLater).toBe(false);
  });
});
