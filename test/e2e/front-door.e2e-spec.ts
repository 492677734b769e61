import { readFileSync } from 'node:fs';
import { Agent } from 'node:http';
import { connect } from 'node:net';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { startStack, type Stack } from '../support/app.js';
import { makeAgents } from '../support/config-examples-agents.js';
import { contract, type DocumentedOperation, CLAIMS } from '../support/contract.js';
import { DEEP } from '../support/depth.js';
import { api, type Api } from '../support/http.js';
import { leaks, problemFaults } from '../support/problem-rules.js';
import { sendRaw } from '../support/raw.js';
import { expectRefusal } from '../support/refusal.js';
import { NO_SESSION, quiet } from '../support/session-examples.js';
import { eventually } from '../support/sse.js';
import { watchState, type Witness } from '../support/unchanged.js';
import { fittingBody } from '../support/fitting-body.js';
import { makeWork, workPath, type WorkExamples } from '../support/work-examples.js';

/** What the front door refuses, on every operation that the document has. */
const { operations } = contract();
const MUTATIONS = operations.filter((o) => o.method !== 'GET' || CLAIMS.has(o.id));
const takesFile = (o: DocumentedOperation): boolean => o.definition.requestBody?.content['application/octet-stream'] !== undefined;
const WITH_BODY = operations.filter((o) => o.definition.requestBody !== undefined);
const NOTHING = '0123456789ab';
const NOWHERE: WorkExamples = {
  bead: NOTHING,
  convoy: NOTHING,
  message: NOTHING,
  wait: NOTHING,
  run: NOTHING,
  firing: NOTHING,
  batch: NOTHING,
  group: NOTHING,
  delivery: NOTHING,
  publication: NOTHING,
  ...NO_SESSION,
};
const target = (o: DocumentedOperation, city = 'alpha'): string => workPath(o.path, city, NOWHERE, o.method);
/** A body that would be accepted if anybody looked at it. */
const bodyOf = (o: DocumentedOperation): object | undefined => fittingBody(o, NOWHERE, { 'register-city': { dir: 'alpha' } });
const named = (list: readonly DocumentedOperation[]): [string, DocumentedOperation][] => list.map((o) => [`${o.method} ${o.path}`, o]);

/** Spellings of a host that is not ours. */
const FOREIGN = [
  'evil.com',
  'evil.com:8372',
  'EVIL.COM',
  'localhost.evil.com',
  'localhost.',
  'localhost.:8372',
  'localhost..',
  '.localhost',
  'xlocalhost',
  'localhostx',
  'local host',
  'localhost,evil.com',
  'localhost;evil.com',
  'localhost@evil.com',
  'user@localhost',
  'user:pass@localhost',
  'localhost/',
  'localhost/evil.com',
  'localhost?evil.com',
  'localhost#evil.com',
  'localhost\\evil.com',
  'http://localhost',
  '//localhost',
  'localhost:',
  'localhost:x',
  'localhost:8372x',
  'localhost:-1',
  'localhost:123456',
  'localhost:80:80',
  ':8372',
  ':',
  '*',
  '127.0.0.1.',
  '127.0.0.1.evil.com',
  '127.1',
  '127.0.1',
  '127.0.0.256',
  '127.0.0.01',
  '0177.0.0.1',
  '0x7f.0.0.1',
  '0x7f000001',
  '2130706433',
  '017700000001',
  '0.0.0.0',
  '0',
  '10.0.0.1',
  '172.16.0.1',
  '192.168.1.1',
  '169.254.169.254',
  '128.0.0.1',
  '[::]',
  '[::1',
  '::1]',
  '[::1]x',
  '[::1].',
  '[::1%25lo]',
  '[::2]',
  '[fe80::1]',
  '[fd00::1]',
  '[::ffff:10.0.0.1]',
  '[::ffff:127.0.0.256]',
  '[::ffff:a00:1]',
  '[localhost]',
  'localhost\tevil.com',
  'loc%61lhost',
  '%6cocalhost',
  '127.0.0.1%00.evil.com',
];
const OURS = [
  'localhost',
  'LOCALHOST',
  'localhost:1',
  '127.0.0.1',
  '127.0.0.1:65535',
  '127.8.7.6',
  '[::1]',
  '[::1]:80',
  '[::ffff:127.0.0.1]',
  '[::ffff:7f00:1]',
];
const REFUSED_HOST = { status: 421, detail: 'host_not_allowed: supervisor Host header is not allowed' };

/** All requests of a group at once; nothing has changed after the last of them. */
const refusedAll = <T>(forms: readonly T[], ask: (form: T) => Promise<void>): Promise<unknown> =>
  witness.unchangedBy(() => Promise.all(forms.map(ask)));

const connections = new Agent({ keepAlive: true, maxSockets: 16 });
let stack: Stack;
let client: Api;
let witness: Witness;

beforeAll(async () => {
  stack = await startStack();
  client = api(stack.urls[0]!, {}, connections);
  expect((await client.post('/v0/city', { dir: 'alpha', provider: 'loopback' })).status).toBe(202);
  await eventually(async () => (await client.get('/v0/city/alpha')).status === 200);
  await eventually(async () => (await client.get('/v0/events?type=request.result.city.create')).body.total === 1);
  await quiet(client, 'alpha');
  witness = await watchState(stack);
});
afterAll(async () => {
  connections.destroy();
  await witness.close();
  await stack.stop();
});

describe('Host', () => {
  /** Each operation is asked in some of the spellings, each spelling is tried on many operations; all of all with the deep tests. */
  const SHARES = DEEP ? 1 : 16;
  const foreignTo = (operation: DocumentedOperation): readonly string[] =>
    FOREIGN.filter((_, n) => (n + operations.indexOf(operation)) % SHARES === 0);

  it.each(named(operations))('%s is refused for spellings of a foreign host', async (_name, operation) => {
    const path = target(operation);
    const body = bodyOf(operation);
    await refusedAll(foreignTo(operation), async (host) => {
      const reply = await client.send(operation.method, path, body, { Host: host });
      if (reply.status !== 421) throw new Error(`${host} was answered with ${reply.status}`);
      expectRefusal(reply, path, REFUSED_HOST);
    });
  });

  it('refuses two Host lines, none, an empty one and a foreign absolute target, on every operation', async () => {
    const host = new URL(stack.urls[0]!).host;
    for (const { method, ...operation } of operations) {
      const path = target({ method, ...operation });
      const head = (start: string, hosts: readonly string[]): string =>
        [start, ...hosts.map((h) => `Host: ${h}`), 'X-SVC-Request: 1', 'Content-Length: 0', 'Connection: close', '', ''].join('\r\n');
      const forms = {
        'two, ours first': head(`${method} ${path} HTTP/1.1`, [host, 'evil.com']),
        'two, ours last': head(`${method} ${path} HTTP/1.1`, ['evil.com', host]),
        'two, both ours': head(`${method} ${path} HTTP/1.1`, [host, host]),
        none: head(`${method} ${path} HTTP/1.1`, []),
        empty: head(`${method} ${path} HTTP/1.1`, ['']),
        'absolute form': head(`${method} http://evil.com${path} HTTP/1.1`, [host]),
        'absolute form with a user': head(`${method} http://localhost@evil.com${path} HTTP/1.1`, [host]),
        'absolute form, upper case': head(`${method} HTTP://EVIL.COM${path} HTTP/1.1`, [host]),
      };
      const [at, share] = [operations.findIndex((o) => o.id === operation.id), DEEP ? 1 : 4];
      for (const [form, text] of Object.entries(forms).filter((_, n) => (n + at) % share === 0)) {
        const reply = await sendRaw(stack.urls[0]!, text);
        const refused = [400, 404, 421].includes(reply.status);
        expect({ method, path, form, status: reply.status, refused }).toMatchObject({ method, path, form, refused: true });
        expect(problemFaults({ method, target: path, ...reply }, reply.text)).toEqual([]);
      }
    }
  });

  it.each(OURS)('%s is ours', async (host) => {
    expect((await client.get('/v0/cities', { Host: host })).status).toBe(200);
  });
});

describe('anti-CSRF', () => {
  it.each(named(MUTATIONS))('%s needs the header, before its body or its city matter', async (_name, operation) => {
    const forms = [
      ['alpha', bodyOf(operation), undefined],
      ['alpha', bodyOf(operation), ''],
      ['absent', '{', undefined],
    ] as const;
    await refusedAll(forms, async ([city, body, header]) => {
      const path = target(operation, city);
      const reply = await client.send(operation.method, path, body, { 'X-SVC-Request': header });
      expectRefusal(reply, path, { status: 403, detail: 'csrf: X-SVC-Request header required on mutation endpoints' });
    });
  });

  it('is not asked of reads', async () => {
    const work = await makeWork(client, 'alpha', stack.databaseUrl);
    await makeAgents(client, 'alpha', stack.citiesRoot);
    for (const operation of operations.filter((o) => o.method === 'GET' && !o.path.endsWith('/stream'))) {
      expect((await client.get(workPath(operation.path, 'alpha', work), { 'X-SVC-Request': undefined })).status).toBe(200);
    }
  });
});

describe('Origin', () => {
  it.each(named(MUTATIONS))('%s is not for pages from elsewhere', async (_name, operation) => {
    const origins = ['https://evil.com', 'null', 'http://localhost.evil.com', 'http://localhost:80:80', 'file://', 'http://127.0.0.1.'];
    await refusedAll(origins, async (origin) => {
      const path = target(operation);
      const reply = await client.send(operation.method, path, bodyOf(operation), { Origin: origin });
      expectRefusal(reply, path, { status: 403, detail: 'origin_not_allowed: pages of this origin may not change anything' });
      expect(reply.headers.get('access-control-allow-origin')).toBeNull();
    });
  });
});

describe('bodies', () => {
  const forms: [string, string, string | undefined, number, string][] = [
    ['not JSON', '{"a":', 'application/json', 400, 'validation_failed: the request body is not valid JSON'],
    ['two values', '{}{}', 'application/json', 400, 'validation_failed: the request body is not valid JSON'],
    ['a form', 'a=b', 'application/x-www-form-urlencoded', 415, 'validation_failed: the content type must be application/json'],
    ['a text', '{}', 'text/plain', 415, 'validation_failed: the content type must be application/json'],
    ['of no type', '{}', undefined, 415, 'validation_failed: the content type must be application/json'],
    ['too large', `{"a":"${'x'.repeat(1024 * 1024)}"}`, 'application/json', 413, 'payload_too_large: the request body exceeds 1 MiB'],
    ['an array', '[]', 'application/json', 422, 'validation_failed: validation failed'],
    ['a text value', '"x"', 'application/json', 422, 'validation_failed: validation failed'],
    ['null', 'null', 'application/json', 422, 'validation_failed: validation failed'],
    ['with an unknown member', '{"zz_unknown":1}', 'application/json', 422, 'validation_failed: validation failed'],
    ['with a NUL', '{"a":"\\u0000"}', 'application/json', 422, 'validation_failed: validation failed'],
    ['with a lone surrogate', '{"a":"\\ud800"}', 'application/json', 422, 'validation_failed: validation failed'],
    ['with __proto__', '{"__proto__":{"a":1}}', 'application/json', 422, 'validation_failed: validation failed'],
    ['too deep', `{"a":${'['.repeat(500)}${']'.repeat(500)}}`, 'application/json', 422, 'validation_failed: validation failed'],
  ];
  it.each(named(WITH_BODY.filter((o) => !takesFile(o))))('%s refuses every broken one', async (_name, operation) => {
    await refusedAll(forms, async ([what, body, type, status, detail]) => {
      const path = target(operation);
      const reply = await client.send(operation.method, path, body, { 'Content-Type': type });
      if (reply.status !== status) throw new Error(`${what} was answered with ${reply.status}`);
      expectRefusal(reply, path, { status, detail });
    });
  });

  it.each(named(WITH_BODY.filter(takesFile)))('%s takes a file and nothing else', async (_name, operation) => {
    const type = 'application/octet-stream';
    const broken: [Buffer | string, string | undefined, number, string][] = [
      ['{}', 'application/json', 415, 'validation_failed: the body of this request must be application/octet-stream'],
      ['{}', 'text/plain', 415, 'validation_failed: the content type must be application/json'],
      ['{}', undefined, 415, 'validation_failed: the content type must be application/json'],
      [Buffer.from([0x61, 0xff]), type, 400, 'validation_failed: the request body is not valid UTF-8'],
      ['x'.repeat(1024 * 1024 + 1), type, 413, 'payload_too_large: the request body exceeds 1 MiB'],
    ];
    await refusedAll(broken, async ([body, given, status, detail]) => {
      const path = target(operation);
      expectRefusal(await client.send(operation.method, path, body, { 'Content-Type': given }), path, { status, detail });
    });
  });

  it.each(named(operations.filter((o) => o.definition.parameters?.some((p) => p.name === 'Idempotency-Key'))))(
    '%s refuses an Idempotency-Key that is none',
    async (_name, operation) => {
      await refusedAll(['a b', 'x'.repeat(256), 'ü'], async (key) => {
        const path = target(operation);
        const reply = await client.send(operation.method, path, bodyOf(operation), { 'Idempotency-Key': key });
        expectRefusal(reply, path, { status: 422, detail: 'validation_failed: validation failed', fields: ['header.Idempotency-Key'] });
      });
    },
  );

  it.each(named(operations))('%s refuses an unknown query parameter', async (_name, operation) => {
    const path = `${target(operation)}${target(operation).includes('?') ? '&' : '?'}zz_unknown=1`;
    const reply = await witness.unchangedBy(() => client.send(operation.method, path, bodyOf(operation), { 'X-SVC-Request': 'x' }));
    expectRefusal(reply, path, { status: 422, detail: 'validation_failed: validation failed', fields: ['query.zz_unknown'] });
  });
});

describe('paths and methods', () => {
  it.each([
    '/v0',
    '/v0/',
    '/v0/city',
    '/v0/city/',
    '/v0/cities/',
    '/v1/cities',
    '/V0/cities',
    '//v0/cities',
    '/v0/city/alpha/',
    '/v0/city/alpha/agent',
    '/.env',
    '/docs/../../package.json',
    '/docs/%2e%2e/package.json',
    '/docs/package.json',
    '/metrics/',
  ])('GET %s is not there', async (path) => {
    const reply = await client.get(path);
    expect([404, 405]).toContain(reply.status);
    expect(reply.body.code).toBe(reply.status === 404 ? 'not-found' : 'method-not-allowed');
  });

  /** `/mail/broadcast` is also `/mail/{id}`. */
  const fits = (path: string, at: string): boolean => new RegExp(`^${path.replace(/\{\w+\}/g, '[^/]+')}$`).test(at.split('?')[0]!);

  it('405 with Allow for every method that a documented path does not have', async () => {
    for (const path of new Set(operations.map((o) => o.path))) {
      const there = operations.filter((o) => o.path === path);
      const allowed = new Set(there.map((o) => o.method));
      for (const method of ['GET', 'POST', 'PUT', 'PATCH', 'DELETE']) {
        const at = target(there[0]!);
        if (allowed.has(method) || operations.some((o) => o.method === method && fits(o.path, at))) continue;
        // Where webhooks are sent to: none has this name, which their format refuses.
        if (method === 'POST' && path.endsWith('/hook/demand')) continue;
        const reply = await client.send(method, at, undefined, { 'X-SVC-Request': undefined });
        expectRefusal(reply, at, { status: 405, detail: 'method_not_allowed: allowed here: …' });
        for (const one of allowed) expect(reply.headers.get('allow')).toContain(one);
      }
    }
  });

  it('answers what cannot be decoded, stored or held with problems', async () => {
    for (const [path, status] of [
      ['/v0/city/%zz', 400],
      ['/v0/city/%ff', 400],
      ['/v0/city/%ED%A0%80', 400],
      ['/v0/city/a%00b', 422],
      ['/v0/city/%20', 422],
      ['/v0/events?type=%zz', 400],
      ['/v0/events?type=%ff', 400],
      ['/v0/events?type=%00', 422],
      [`/v0/city/${'x'.repeat(2_000)}`, 414],
      [`/v0/events?type=${'x'.repeat(5_000)}`, 422],
      [`/v0/events?type=${'x'.repeat(600 * 1024)}`, 414],
    ] as const) {
      const reply = await client.get(path);
      expect({ path: path.slice(0, 60), status: reply.status }).toEqual({ path: path.slice(0, 60), status });
    }
  });
});

describe('precedence', () => {
  const bad = { Host: 'evil.com' };
  const noCsrf = { 'X-SVC-Request': undefined };

  it('Host, then origin, then anti-CSRF, then the body, then the city', async () => {
    const path = '/v0/city/absent/events';
    expect((await client.post(path, '{', { ...bad, ...noCsrf, Origin: 'https://evil.com' })).status).toBe(421);
    expect((await client.post(path, '{', { ...noCsrf, Origin: 'https://evil.com' })).body.code).toBe('origin-not-allowed');
    expect((await client.post(path, '{', noCsrf)).body.code).toBe('csrf');
    expect((await client.post(path, '{')).status).toBe(400);
    expect((await client.post(path, {})).status).toBe(422);
    expect((await client.post(path, { type: 'a', actor: 'b' })).status).toBe(404);
    expect((await client.post('/v0/nothing', '{', noCsrf)).status).toBe(404);
    expect((await client.post('/v0/nothing', '{', bad)).status).toBe(421);
  });

  it('in read-only mode too: anti-CSRF first, then read_only, then the body; reads and unknown paths as ever', async () => {
    const open = await stack.add('api', { host: '0.0.0.0' });
    const readOnly = api(open.url.replace('0.0.0.0', '127.0.0.1'));
    for (const operation of MUTATIONS) {
      const path = target(operation);
      expect((await readOnly.send(operation.method, path, '{', bad)).status).toBe(421);
      expect((await readOnly.send(operation.method, path, '{', noCsrf)).body.code).toBe('csrf');
      for (const body of ['{', bodyOf(operation)]) {
        const reply = await witness.unchangedBy(() => readOnly.send(operation.method, path, body, { 'X-SVC-Request': 'x' }));
        expectRefusal(reply, path, { status: 403, detail: 'read_only: mutations disabled: server bound to non-localhost address' });
      }
    }
    expect((await readOnly.get('/v0/city/alpha')).status).toBe(200);
    expect((await readOnly.post('/v0/nothing', {})).status).toBe(404);
    expect((await readOnly.delete('/v0/cities')).status).toBe(405);
  });
});

describe('connections', () => {
  /** Connections to this port that the kernel has made and that nobody has accepted. */
  const waiting = (port: number): number => {
    const listening = `:${port.toString(16).toUpperCase().padStart(4, '0')} 00000000:0000 0A `;
    const line = readFileSync('/proc/net/tcp', 'utf8')
      .split('\n')
      .find((one) => one.includes(listening))!;
    return Number.parseInt(/ 0A [0-9A-F]{8}:([0-9A-F]{8}) /.exec(line)![1]!, 16);
  };

  // Guard: more clients than Node lets wait come at once, and none is reset.
  it('come all at once, while the process does something else: none is refused', async () => {
    const { hostname, port } = new URL(stack.urls[0]!);
    const sockets = Array.from({ length: 1_000 }, () => connect({ host: hostname, port: Number(port) }));
    // The kernel is asked for all of them in the next tick; the process accepts none before its loop has turned.
    await new Promise((resolve) => process.nextTick(resolve));
    const waits = waiting(Number(port));
    const answers = sockets.map((socket) => text(socket).finally(() => socket.destroy()));
    for (const socket of sockets) socket.write(`GET /health HTTP/1.1\r\nHost: ${hostname}:${port}\r\nConnection: close\r\n\r\n`);
    for (const answer of await Promise.all(answers)) expect(answer).toMatch(/^HTTP\/1\.1 200 /);
    expect(waits).toBe(Math.min(sockets.length, Number(readFileSync('/proc/sys/net/core/somaxconn', 'utf8')) + 1));
  });
});

it('the scanner for leaks finds what it is for', () => {
  const said = (detail: string, code = 'internal'): string[] =>
    leaks({ type: '', title: 'x', status: 500, instance: '/', code, detail: `${code}: ${detail}` });
  for (const detail of [
    'insert into events values',
    'select id from cities where x',
    'duplicate key value violates unique constraint',
    'relation "cities" does not exist',
    'TypeError: x is not a function',
    'at Object.run (/srv/app/x.ts:1:2)',
    'connect ECONNREFUSED 127.0.0.1:5432',
    'cannot open /var/lib/svc/x',
    'redis is down',
    'FST_ERR_CTP_INVALID_MEDIA_TYPE',
  ]) {
    expect({ detail, found: said(detail).length > 0 }).toEqual({ detail, found: true });
  }
  expect(said('city already initialized at /srv/cities/a', 'conflict')).toEqual([]);
  expect(said('the API key lacks the right "operate"', 'forbidden')).toEqual([]);
});
