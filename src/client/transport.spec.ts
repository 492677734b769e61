import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import type { ServerResponse } from 'node:http';
import { frame, json, problem, testServer, type Handler, type TestServer } from '../cli/testing/server.js';
import { followFrames, type OpenStream } from './follow.js';
import { connect, ConnectionError, type Client, type ConnectOptions } from './index.js';
import { Limit } from './limit.js';

const BEADS = '/v0/city/alpha/beads';
const CLAIM = '/v0/city/alpha/hook/claim';
const path = { cityName: 'alpha' };
const servers: TestServer[] = [];

async function serve(routes: Record<string, Handler>): Promise<TestServer> {
  const server = await testServer(routes);
  servers.push(server);
  return server;
}
const client = (url: string | readonly string[], more: Partial<ConnectOptions> = {}) => connect({ url, retryMs: 10_000, ...more });
const create = (url: string | readonly string[], more: Partial<ConnectOptions> = {}) =>
  client(url, more).post('/v0/city/{cityName}/beads', { path, body: { title: 'one' } });
const claim = (url: string | readonly string[]) => client(url).post('/v0/city/{cityName}/hook/claim', { path, body: { agent: 'mayor' } });
/** Half of an answer. */
const begin = (response: ServerResponse, then?: () => void): void =>
  void response.writeHead(200, { 'content-type': 'application/json', 'content-length': '100' }).write('{"id":', then);
/** What the service says where it has lost its database at the commit. */
const UNKNOWN = 'service-unavailable: it is not known whether it was done; repeat it with the same Idempotency-Key';
const aggregate = (code: string, ...failures: [code: string, syscall: string][]): object =>
  Object.assign(new AggregateError(failures.map(([one, syscall]) => Object.assign(new Error('no'), { code: one, syscall }))), { code });
const keys = ({ requests }: TestServer) => requests.map(({ headers }) => headers['idempotency-key']);

afterEach(async () => {
  await Promise.all(servers.splice(0).map((server) => server.close()));
});

describe('a call that takes an idempotency key', () => {
  it.each<[string, Handler]>([
    ['the connection is lost', (_request, response) => response.destroy()],
    ['the answer is cut off', (_request, response) => begin(response, () => response.destroy())],
    ['the service is not available', (_request, response) => problem(response, 503, 'unavailable: no database', { 'retry-after': '0' })],
    [
      'a proxy has no replica to ask',
      (_request, response) => void response.writeHead(503, { 'content-type': 'text/plain' }).end('no upstream'),
    ],
    ['a proxy has lost its replica', (_request, response) => problem(response, 502, 'bad_gateway: gone')],
    ['there were too many', (_request, response) => problem(response, 429, 'rate_limited: slow down', { 'retry-after': '0' })],
  ])('is sent again under the same key while %s', async (_why, fails) => {
    const server = await serve({
      [BEADS]: (request, response, nth) => (nth < 3 ? fails(request, response, nth) : json(response, { id: 'al-1' })),
    });
    expect(await create(server.url)).toEqual({ id: 'al-1' });
    const sent = keys(server);
    expect(sent).toEqual(Array(3).fill(sent[0]));
    expect(sent[0]).toMatch(/^[0-9a-f]{32}$/);
    expect(new Set(server.requests.map(({ body }) => body))).toEqual(new Set(['{"title":"one"}']));
  });

  it('has another key each time, and that of the caller when it names one', async () => {
    const server = await serve({ [BEADS]: (_request, response) => json(response, { id: 'al-1' }) });
    await create(server.url);
    await create(server.url);
    await client(server.url).post('/v0/city/{cityName}/beads', { path, body: { title: 'one' }, idempotencyKey: 'mine' });
    const [one, two, three] = keys(server);
    expect(one).not.toBe(two);
    expect(three).toBe('mine');
  });

  it('is not sent again for another refusal, nor when the caller wants no tries', async () => {
    const server = await serve({
      [BEADS]: (_request, response, nth) =>
        nth === 1 ? problem(response, 422, 'validation_failed: title') : problem(response, 503, 'unavailable: no', { 'retry-after': '1' }),
    });
    await expect(create(server.url)).rejects.toMatchObject({ status: 422 });
    await expect(create(server.url, { retryMs: 0 })).rejects.toMatchObject({ status: 503, retryAfterMs: 1_000 });
    expect(server.requests).toHaveLength(2);
  });
});

describe('a replica that is not available', () => {
  const without = () =>
    serve({ [BEADS]: (_request, response) => problem(response, 503, 'unavailable: no database', { 'retry-after': '2' }) });
  const healthy = () => serve({ [BEADS]: (_request, response) => json(response, { id: 'al-1' }) });

  it.each([
    ['a read', (urls: readonly string[]) => client(urls, { retryMs: 0 }).get('/v0/city/{cityName}/beads', { path })],
    ['a write with a key', (urls: readonly string[]) => create(urls, { retryMs: 0 })],
  ])('is left at once by %s, also where nothing is tried again', async (_what, ask) => {
    const [one, two, three] = [await without(), await without(), await healthy()];
    expect(await ask([one.url, two.url, three.url])).toEqual({ id: 'al-1' });
    expect([one, two, three].map(({ requests }) => requests.length)).toEqual([1, 1, 1]);
  });

  it('is left by a write that it does not tell to its end what it knows', async () => {
    const stalls = await serve({
      [BEADS]: (_request, response) =>
        void response.writeHead(503, { 'Content-Type': 'application/problem+json', 'Retry-After': '2' }).write('{'),
    });
    const other = await healthy();
    expect(await create([stalls.url, other.url], { retryMs: 0 })).toEqual({ id: 'al-1' });
  });

  it('is what is told where all of them say so, each asked once', async () => {
    const [one, two] = [await without(), await without()];
    await expect(create([one.url, two.url], { retryMs: 0 })).rejects.toMatchObject({ status: 503, retryAfterMs: 2_000 });
    expect([one, two].map(({ requests }) => requests.length)).toEqual([1, 1]);
  });

  it('is believed by a write that it may have handed on, and by one without a key', async () => {
    const gone = await serve({ [BEADS]: (_request, response) => problem(response, 502, 'bad_gateway: gone') });
    const full = await serve({ [CLAIM]: (_request, response) => problem(response, 503, 'unavailable: no', { 'retry-after': '2' }) });
    const other = await healthy();
    await expect(create([gone.url, other.url], { retryMs: 0 })).rejects.toMatchObject({ status: 502 });
    await expect(claim([full.url, other.url])).rejects.toMatchObject({ status: 503 });
    expect(other.requests).toEqual([]);
  });
});

describe('a write whose last try nobody has got', () => {
  const last = 'http://last.test';
  const after = async (first: Handler): Promise<unknown> => {
    const { url } = await serve({ [BEADS]: first });
    const fetch = ((input: string, init: RequestInit) =>
      input.startsWith(last)
        ? Promise.reject(new TypeError('fetch failed', { cause: { code: 'ECONNREFUSED' } }))
        : globalThis.fetch(input, init)) as typeof globalThis.fetch;
    return create([url, last], { retryMs: 0, fetch }).catch((error: unknown) => error);
  };

  it.each<[string, boolean, Handler]>([
    ['may have been carried out by the replica that died with it', true, (_request, response) => response.destroy()],
    ['may have been carried out behind a proxy', true, (_request, response) => void response.writeHead(503).end('no upstream')],
    [
      'was not where the replica before has refused it',
      false,
      (_request, response) => problem(response, 503, 'unavailable: no', { 'retry-after': '1' }),
    ],
    [
      'may have been carried out by the replica before, which does not know',
      true,
      (_request, response) => problem(response, 503, UNKNOWN, { 'retry-after': '1' }),
    ],
  ])('%s', async (_what, mayHaveHappened, first) => {
    expect(await after(first)).toMatchObject({ name: 'ConnectionError', message: `no answer from ${last}: ECONNREFUSED`, mayHaveHappened });
  });
});

it.each<[string, boolean, object]>([
  ['none of the addresses of a name was reached', false, aggregate('ETIMEDOUT', ['ETIMEDOUT', 'connect'], ['ENETUNREACH', 'connect'])],
  ['the name was not found', false, Object.assign(new Error('no'), { code: 'EAI_FAIL', syscall: 'getaddrinfo' })],
  ['the connection timed out on its way', false, Object.assign(new Error('no'), { code: 'ETIMEDOUT', syscall: 'connect' })],
  ['it timed out later', true, Object.assign(new Error('no'), { code: 'ETIMEDOUT', syscall: 'read' })],
  ['one of the addresses was reached', true, aggregate('ECONNREFUSED', ['ECONNREFUSED', 'connect'], ['ECONNRESET', 'read'])],
])('a lost write says whether it was sent: where %s', async (_what, mayHaveHappened, cause) => {
  const fetch = () => Promise.reject(new TypeError('fetch failed', { cause }));
  await expect(create('http://svc.test', { retryMs: 0, fetch })).rejects.toMatchObject({ name: 'ConnectionError', mayHaveHappened });
});

it('a failed write says under which key it was sent, also where the program has given none', async () => {
  const [gone, busy] = [
    await serve({ [BEADS]: (_request, response) => void response.destroy() }),
    await serve({ [BEADS]: (_request, response) => problem(response, 409, 'conflict: no') }),
  ];
  for (const server of [gone, busy]) {
    const failed = await create(server.url, { retryMs: 0 }).catch((error: unknown) => error);
    expect(failed).toMatchObject({ idempotencyKey: keys(server)[0] });
    expect(keys(server)[0]).toMatch(/^[0-9a-f]{32}$/);
  }
  const silent = await serve({ [BEADS]: () => undefined });
  const late = await create(silent.url, { timeoutMs: 200 }).catch((error: unknown) => error);
  expect(late).toMatchObject({ name: 'ConnectionError', idempotencyKey: keys(silent)[0] });
});

it.each<[string, boolean, Handler, Handler]>([
  [
    'another replica has refused what the first may have carried out',
    true,
    (_request, response) => response.destroy(),
    (_request, response) => problem(response, 503, 'unavailable: no; nothing was changed'),
  ],
  [
    'the work under its key goes on',
    true,
    (_request, response) => problem(response, 409, 'idempotency-in-flight: later'),
    (_request, response) => problem(response, 404, 'not_found: never asked'),
  ],
  [
    'a proxy has answered',
    true,
    (_request, response) => void response.writeHead(504).end('no'),
    (_request, response) => problem(response, 404, 'not_found: never asked'),
  ],
  [
    'both have refused it',
    false,
    (_request, response) => problem(response, 503, 'unavailable: no', { 'retry-after': '1' }),
    (_request, response) => problem(response, 409, 'conflict: no'),
  ],
  [
    'the service does not know',
    true,
    (_request, response) => problem(response, 503, UNKNOWN),
    (_request, response) => problem(response, 404, 'not_found: never asked'),
  ],
  [
    'one replica does not know, and another has refused it',
    true,
    (_request, response) => problem(response, 503, UNKNOWN, { 'retry-after': '1' }),
    (_request, response) => problem(response, 429, 'rate_limited: no'),
  ],
  [
    'each replica would have said the same',
    false,
    (_request, response) => response.destroy(),
    (_request, response) => problem(response, 400, 'bad-request: no JSON'),
  ],
  [
    'the key was of another request',
    false,
    (_request, response) => response.destroy(),
    (_request, response) => problem(response, 422, 'idempotency-mismatch: no'),
  ],
  [
    'another replica has another disk',
    true,
    (_request, response) => response.destroy(),
    (_request, response) => problem(response, 422, 'validation-failed: there is no city'),
  ],
  [
    'the key was revoked meanwhile',
    true,
    (_request, response) => response.destroy(),
    (_request, response) => problem(response, 401, 'unauthorized: no'),
  ],
  [
    'another replica takes no writes at its address',
    true,
    (_request, response) => response.destroy(),
    (_request, response) => problem(response, 403, 'read-only: no'),
  ],
  [
    'a proxy before another replica refuses it',
    true,
    (_request, response) => response.destroy(),
    (_request, response) => void response.writeHead(400).end('<html>'),
  ],
])('a refusal says whether it may have been carried out: where %s', async (_what, mayHaveHappened, first, second) => {
  const [one, other] = [await serve({ [BEADS]: first }), await serve({ [BEADS]: second })];
  await expect(create([one.url, other.url], { retryMs: 0 })).rejects.toMatchObject({ name: 'ApiProblem', mayHaveHappened });
});

it('a 502 of the service itself leaves nothing open, neither by the first try nor by the last', async () => {
  const server = await serve({ [BEADS]: (_request, response) => problem(response, 502, 'bad-gateway: no', { 'retry-after': '0' }) });
  await expect(create(server.url, { retryMs: 1_000 })).rejects.toMatchObject({ status: 502, mayHaveHappened: false });
  expect(server.requests.length).toBeGreaterThan(1);
});

it('a refusal of a read changes nothing, whatever became of it', async () => {
  const one = await serve({ [BEADS]: (_request, response) => response.destroy() });
  const other = await serve({ [BEADS]: (_request, response) => problem(response, 409, 'idempotency-in-flight: no') });
  const read = client([one.url, other.url], { retryMs: 0 }).get('/v0/city/{cityName}/beads', { path });
  await expect(read).rejects.toMatchObject({ status: 409, mayHaveHappened: false });
});

it('leaves the final refusals of the service as they are', async () => {
  const server = await serve({ [BEADS]: (_request, response) => problem(response, 503, 'maintenance_disabled: off') });
  await expect(create(server.url)).rejects.toMatchObject({ status: 503 });
  expect(server.requests).toHaveLength(1);
});

it.each([
  ['says nothing of when', {}],
  ['says at once', { 'retry-after': '0' }],
])('waits longer each time where the answer %s', async (_how, headers: Record<string, string>) => {
  jest.useFakeTimers({ doNotFake: ['setImmediate', 'nextTick', 'queueMicrotask'] });
  try {
    const asked: number[] = [];
    const fetch = (async () => {
      asked.push(Date.now());
      return new Response('gone', { status: 502, headers });
    }) as typeof globalThis.fetch;
    const asking = client('http://service.test', { fetch }).get('/v0/city/{cityName}/beads', { path });
    const failed = expect(asking).rejects.toMatchObject({ status: 502 });
    await jest.advanceTimersByTimeAsync(10_000);
    await failed;
    expect(asked.slice(1).map((at, n) => at - asked[n]!)).toEqual([100, 200, 400, 800, 1_600, 2_000, 2_000, 2_000]);
  } finally {
    jest.useRealTimers();
  }
});

describe('a call without one', () => {
  it('is not sent again when it may have been carried out', async () => {
    const server = await serve({ [CLAIM]: (_request, response) => response.destroy() });
    const cut = await serve({ [CLAIM]: (_request, response) => begin(response, () => response.destroy()) });
    for (const asked of [server, cut]) {
      const lost = claim(asked.url);
      await expect(lost).rejects.toBeInstanceOf(ConnectionError);
      await expect(lost).rejects.toMatchObject({ mayHaveHappened: true });
      expect(asked.requests).toHaveLength(1);
      expect(keys(asked)).toEqual([undefined]);
    }
  });

  it('is sent again when it was refused as one too many, and goes to another replica when nobody was there', async () => {
    const gone = await testServer({});
    await gone.close();
    const server = await serve({
      [CLAIM]: (_request, response, nth) =>
        nth === 1 ? problem(response, 429, 'rate_limited: slow', { 'retry-after': '0' }) : json(response, { ok: true }),
    });
    expect(await claim([gone.url, server.url])).toEqual({ ok: true });
    expect(server.requests).toHaveLength(2);
  });
});

it('ends with its signal while it waits to try again', async () => {
  const server = await serve({ [BEADS]: (_request, response) => problem(response, 503, 'unavailable: no', { 'retry-after': '9' }) });
  const stop = new AbortController();
  const asking = client(server.url, { retryMs: 60_000 }).get('/v0/city/{cityName}/beads', { path, signal: stop.signal });
  stop.abort(new Error('enough'));
  await expect(asking).rejects.toThrow('enough');
});

it('has a limit of time over all tries', async () => {
  const server = await serve({ [BEADS]: () => undefined });
  const asking = client(server.url, { timeoutMs: 50 }).get('/v0/city/{cityName}/beads', { path });
  await expect(asking).rejects.toThrow(/within 0.05 s/);
});

it('has that limit also for an answer that stalls in its middle, and does not hear the signal', async () => {
  const fetch = (() => Promise.resolve(new Response(new ReadableStream()))) as typeof globalThis.fetch;
  const asking = client('http://service.test', { timeoutMs: 50, fetch }).get('/v0/city/{cityName}/beads', { path });
  await expect(asking).rejects.toThrow(/within 0.05 s/);
}, 10_000);

describe('a replica that accepts and says nothing', () => {
  const SILENT = 'http://silent.test';
  const STREAM = '/v0/events/stream';
  let asked: string[];
  const told = (): Response => new Response(frame('1', 'event', {}), { headers: { 'content-type': 'text/event-stream' } });
  /** As a socket does, else nothing leads to who waits, and he may be collected with all that would end his waiting. */
  const held = new Set<AbortSignal>();
  const silent = (signal: AbortSignal): Promise<Response> =>
    new Promise((_, reject) => held.add(signal) && signal.addEventListener('abort', () => reject(signal.reason as Error)));
  /** Arrives 15 s after it has begun. */
  const slow = (signal: AbortSignal): Response => {
    const start = (out: ReadableStreamDefaultController<Uint8Array>): void => {
      signal.addEventListener('abort', () => out.error(signal.reason));
      setTimeout(() => (out.enqueue(Buffer.from('{"waited":"slow"}')), out.close()), 15_000);
    };
    return new Response(new ReadableStream<Uint8Array>({ start }));
  };
  const fetch = ((input: string, { signal }: { signal: AbortSignal }) => {
    const { origin, pathname, searchParams } = new URL(input);
    asked.push(origin);
    if (searchParams.get('type') === 'slow') return Promise.resolve(slow(signal));
    if (origin === SILENT && pathname !== STREAM) return silent(signal);
    if (pathname === STREAM) return Promise.resolve(origin === SILENT ? new Response(new ReadableStream(), told()) : told());
    return Promise.resolve(Response.json({ waited: searchParams.get('wait') }));
  }) as typeof globalThis.fetch;
  const both = (more: Partial<ConnectOptions> = {}) => client([SILENT, 'http://other.test'], { fetch, ...more });

  beforeEach(() => void (asked = []));
  afterEach(() => void (held.clear(), jest.useRealTimers()));

  it('has its share of the time, and the call the answer of another', async () => {
    jest.useFakeTimers({ doNotFake: ['setImmediate', 'nextTick', 'queueMicrotask'] });
    const asking = both({ timeoutMs: 20_000 }).get('/v0/city/{cityName}/beads', { path });
    await jest.advanceTimersByTimeAsync(10_000);
    expect(asked).toEqual([SILENT, 'http://other.test']);
    expect(await asking).toEqual({ waited: null });
  });

  it('has all of it for a read that waits', async () => {
    const asking = both({ timeoutMs: 50 }).get('/v0/city/{cityName}/beads', { path, query: { index: '1', wait: '1m' } });
    await expect(asking).rejects.toThrow(/no answer from http:\/\/silent.test within 0.05 s/);
    expect(asked).toEqual([SILENT]);
  });

  it('has all of it for an answer that has begun', async () => {
    jest.useFakeTimers({ doNotFake: ['setImmediate', 'nextTick', 'queueMicrotask'] });
    const asking = both({ timeoutMs: 20_000 }).get('/v0/city/{cityName}/beads', { path, query: { type: 'slow' } });
    await jest.advanceTimersByTimeAsync(15_000);
    expect(await asking).toEqual({ waited: 'slow' });
    expect(asked).toEqual([SILENT]);
  });

  it('has all of it for a write whose work may go on under its key', async () => {
    jest.useFakeTimers({ doNotFake: ['setImmediate', 'nextTick', 'queueMicrotask'] });
    const late = new AbortController();
    const options = { path, body: { title: 'one' }, signal: late.signal };
    const failed = expect(both().post('/v0/city/{cityName}/beads', options)).rejects.toThrow('late');
    await jest.advanceTimersByTimeAsync(29_000);
    expect(asked).toEqual([SILENT]);
    late.abort(new Error('late'));
    await failed;
  });

  it.each<[string, (one: Client) => Promise<unknown>]>([
    ['may have been carried out', (one) => one.post('/v0/city/{cityName}/hook/claim', { path, body: { agent: 'mayor' } })],
    ['may go on under its key', (one) => one.post('/v0/city/{cityName}/beads', { path, body: { title: 'one' } })],
  ])('is left by the next call where what it was asked %s', async (_why, write) => {
    const one = both({ timeoutMs: 50 });
    await expect(write(one)).rejects.toMatchObject({ name: 'ConnectionError', mayHaveHappened: true });
    expect([asked, one.url]).toEqual([[SILENT], 'http://other.test']);
  });

  it('is left by the next stream where it has not begun one', async () => {
    const one = client([SILENT, `${SILENT}/too`], { fetch, timeoutMs: 50 });
    const opening = one.open('/v0/city/{cityName}/events/stream', { path, signal: new AbortController().signal });
    await expect(opening).rejects.toThrow(/no answer from http:\/\/silent.test\/too within 0.05 s/);
    expect(one.url).toBe(SILENT);
  });

  it('is asked again where the caller has given up what it asked', async () => {
    const one = both();
    const stop = new AbortController();
    const asking = one.get('/v0/city/{cityName}/beads', { path, signal: stop.signal });
    const given = expect(asking).rejects.toThrow('enough');
    while (asked.length === 0) await new Promise((resolve) => setImmediate(resolve));
    stop.abort(new Error('enough'));
    await given;
    expect(one.url).toBe(SILENT);
  });

  it('has its share of the limit of a raw call, where that tells one', async () => {
    jest.useFakeTimers({ doNotFake: ['setImmediate', 'nextTick', 'queueMicrotask'] });
    const raw = (signal: AbortSignal) => both({ timeoutMs: 10 }).http.GET('/v0/city/{cityName}/beads', { params: { path }, signal });
    const late = new AbortController();
    const failed = expect(raw(late.signal)).rejects.toThrow('late');
    await jest.advanceTimersByTimeAsync(60_000);
    expect(asked).toEqual([SILENT]);
    late.abort(new Error('late'));
    await failed;
    const limit = new Limit(40_000);
    const asking = raw(limit.signal);
    await jest.advanceTimersByTimeAsync(20_000);
    expect((await asking).data).toEqual({ waited: null });
    expect([asked.slice(1), limit.asked]).toEqual([[SILENT, 'http://other.test'], 'http://other.test']);
  });

  it('is named by the call that has asked it, whatever others ask meanwhile', async () => {
    const one = client([SILENT, `${SILENT}/too`], { fetch });
    const waiting = one.get('/v0/city/{cityName}/beads', { path, query: { index: '1', wait: '1m' }, timeoutMs: 600 });
    const asking = one.get('/v0/city/{cityName}/beads', { path, timeoutMs: 400 });
    await Promise.all([
      expect(asking).rejects.toThrow(/no answer from http:\/\/silent.test\/too within 0.4 s/),
      expect(waiting).rejects.toThrow(/no answer from http:\/\/silent.test within 0.6 s/),
    ]);
  });

  it('is left by its streams', async () => {
    const one = both();
    const stop = new AbortController();
    const { signal } = stop;
    const open: OpenStream = () => one.open('/v0/events/stream', { signal });
    for await (const { id } of followFrames(open, { signal, silenceMs: 10, baseMs: 1 })) {
      expect(id).toBe('1');
      break;
    }
    expect(asked).toEqual([SILENT, 'http://other.test']);
  }, 10_000);
});

it('answers a body that is empty as none', async () => {
  const server = await serve({ [BEADS]: (_request, response) => void response.writeHead(204).end() });
  const { data, response } = await client(server.url).call('get', '/v0/city/{cityName}/beads', { path });
  expect([data, response.status]).toEqual([undefined, 204]);
});

describe('what a program without types forgets', () => {
  it.each([
    [{}, 'no address of the service is given'],
    [{ url: [] }, 'no address of the service is given'],
    [{ url: 'a.example' }, 'the address of the service is no URL: a.example'],
    [{ url: 'localhost:8372' }, 'begins with http:// or https://, not with localhost:'],
    [{ url: 'ftp://a.example' }, 'begins with http:// or https://, not with ftp:'],
  ])('is told at once: %j', (options, message) => {
    expect(() => connect(options as ConnectOptions)).toThrow(message);
  });

  it('is told before anything is sent, for a part of a path', async () => {
    const server = await serve({});
    const asked = client(server.url).get('/v0/city/{cityName}/bead/{id}', { path: { cityName: 'alpha' } } as never);
    await expect(asked).rejects.toThrow('GET /v0/city/{cityName}/bead/{id} needs path.id');
    expect(server.requests).toEqual([]);
  });

  it.each(['', '.', '..'])('is told before anything is sent, for a part of a path that leads to another operation: "%s"', async (id) => {
    const server = await serve({});
    // Of the session `..` it would be the stop of the city.
    const asked = client(server.url).post('/v0/city/{cityName}/session/{id}/stop', { path: { cityName: 'alpha', id } });
    await expect(asked).rejects.toThrow(`POST /v0/city/{cityName}/session/{id}/stop: path.id is no name: '${id}'`);
    expect(server.requests).toEqual([]);
  });
});
