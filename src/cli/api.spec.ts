import { afterEach, describe, expect, it, jest } from '@jest/globals';
import { ask, connect, failing, type Api } from './api.js';
import { runCli } from './cli.js';
import { UnreachableError, type CliError } from './errors.js';
import { fakeIo, type FakeIo } from './testing/io.js';
import { json, problem, testServer, type Handler, type TestServer } from './testing/server.js';

const { fetch } = globalThis;
afterEach(() => {
  globalThis.fetch = fetch;
  jest.useRealTimers();
});

it('asks another replica for what one that says nothing does not answer in its share of the limit', async () => {
  jest.useFakeTimers({ doNotFake: ['setImmediate', 'nextTick', 'queueMicrotask'] });
  const asked: string[] = [];
  globalThis.fetch = ((input: string, { signal }: { signal: AbortSignal }) => {
    asked.push(input);
    if (asked.length > 1) return Promise.resolve(Response.json({ status: 'ok' }));
    return new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason as Error)));
  }) as typeof globalThis.fetch;
  const target = { url: 'http://silent.test', replicas: ['http://other.test'], key: undefined, source: 'for a test' };
  const api = connect(target, new AbortController().signal);
  const asking = ask(api, (signal) => api.http.GET('/health', { signal }), 40_000);
  await jest.advanceTimersByTimeAsync(20_000);
  expect(asked).toEqual(['http://silent.test/health', 'http://other.test/health']);
  expect((await asking).data).toEqual({ status: 'ok' });
});

it('names the address whose certificate is not trusted, and says that another one may have carried it out', async () => {
  const cause = (code: string): Error => Object.assign(new TypeError('fetch failed'), { cause: Object.assign(new Error(code), { code }) });
  globalThis.fetch = ((input: string) =>
    Promise.reject(cause(input.startsWith('http://gone') ? 'ECONNRESET' : 'DEPTH_ZERO_SELF_SIGNED_CERT'))) as typeof globalThis.fetch;
  const target = { url: 'http://gone.test', replicas: ['https://own.test'], key: undefined, source: 'for a test' };
  const api = connect(target, new AbortController().signal);
  const sending = api.client.post('/v0/city/{cityName}/beads', { path: { cityName: 'alpha' }, body: { title: 'a' } });
  const error = (await sending.catch(failing(api)).catch((thrown: unknown) => thrown)) as CliError;
  expect(error.message).toMatch(/^the certificate of https:\/\/own\.test .*: it may have been done$/);
  expect([error instanceof UnreachableError, typeof error.sentKey]).toEqual([true, 'string']);
});

it('has not sent anything to an address whose certificate is not trusted', async () => {
  const code = 'DEPTH_ZERO_SELF_SIGNED_CERT';
  globalThis.fetch = (() =>
    Promise.reject(Object.assign(new TypeError('fetch failed'), { cause: Object.assign(new Error(code), { code }) }))) as typeof fetch;
  const api = connect({ url: 'https://own.test', key: undefined, source: 'for a test' }, new AbortController().signal);
  const sending = api.client.post('/v0/city/{cityName}/beads', { path: { cityName: 'alpha' }, body: { title: 'a' } });
  const error = (await sending.catch(failing(api)).catch((thrown: unknown) => thrown)) as CliError;
  expect(error.message).toMatch(/^the certificate of https:\/\/own\.test is of no authority .* SVC_CA_CERT$/);
  expect([error instanceof UnreachableError, error.sentKey]).toEqual([false, undefined]);
});

describe('a call of the library without an answer', () => {
  const failed = async (handler: Handler, call: (api: Api) => Promise<unknown>): Promise<CliError> => {
    const server = await testServer({ '/v0/city/alpha/beads': handler });
    const api = connect({ url: server.url, key: undefined, source: 'for a test' }, new AbortController().signal);
    const error = await call(api)
      .catch(failing(api))
      .catch((told: unknown) => told as CliError);
    await server.close();
    return error as CliError;
  };
  const path = { cityName: 'alpha' };
  const create = (timeoutMs: number) => (api: Api) =>
    api.client.post('/v0/city/{cityName}/beads', { path, body: { title: 'once' }, idempotencyKey: 'k1', timeoutMs });

  it.each<[string, Handler, number, RegExp]>([
    ['breaks off', (request) => request.socket.destroy(), 1_000, /^no answer from \S+: UND_ERR_SOCKET: it may have been done$/],
    ['says nothing', () => undefined, 200, /^no answer from \S+ within 0.2 s: it may have been done$/],
  ])('may have changed something where it %s', async (_what, handler, timeoutMs, said) => {
    const error = await failed(handler, create(timeoutMs));
    expect([error.message, error.sentKey]).toEqual([expect.stringMatching(said), 'k1']);
  });

  it('has changed nothing where it only reads', async () => {
    const error = await failed(
      (request) => request.socket.destroy(),
      (api) => api.client.get('/v0/city/{cityName}/beads', { path }),
    );
    expect([error.message, error.sentKey]).toEqual([expect.stringContaining('cannot reach the supervisor'), undefined]);
  });
});

describe('a change whose answer is lost', () => {
  let server: TestServer;
  afterEach(() => server.close());
  const run = async (handler: Handler, ...args: string[]): Promise<FakeIo & { code?: number }> => {
    const routes = ['beads', 'waits', 'convoys', 'beads/index', 'bead/a-1/close'].map(
      (name) => [`/v0/city/alpha/${name}`, handler] as const,
    );
    server = await testServer(Object.fromEntries(routes));
    const io = fakeIo();
    return Object.assign(io, { code: await runCli([...args, '--city', 'alpha', '--api', server.url], io) });
  };
  const lost: Handler = (request) => request.socket.destroy();
  const CREATE = ['bead', 'create', 'once'];

  it('is told as one that may have been done, with the key under which it is done once', async () => {
    const io = await run((request, response, nth) => (nth === 1 ? lost(request, response, nth) : json(response, { id: 'a-1' })), ...CREATE);
    const key = server.requests[0]!.headers['idempotency-key'] as string;
    expect([io.code, io.stderr]).toEqual([
      5,
      `svc bead create: the connection to ${server.url} broke before the answer (UND_ERR_SOCKET): it may have been done; repeat it with \`--idempotency-key ${key}\`\n`,
    ]);
    await runCli([...CREATE, '--city', 'alpha', '--api', server.url, '--idempotency-key', key], fakeIo());
    expect(server.requests.map(({ headers }) => headers['idempotency-key'])).toEqual([key, key]);
  });

  it.each([
    ['beads', ['bead', 'create', 'later'], '--defer'],
    ['waits', ['wait', 'create', '--session', 'worker', '--manual'], '--expires-at'],
  ])('is repeated with the time that was sent of %s, not with a duration from now', async (_what, args, flag) => {
    const io = await run(
      (request, response, nth) => (nth === 1 ? lost(request, response, nth) : json(response, { id: 'a-1' })),
      ...args,
      flag,
      '2h',
    );
    const words = /repeat it with `(.*)`\n$/.exec(io.stderr)![1]!.split(' ');
    expect(words).toEqual([
      flag,
      expect.stringMatching(/^\d{4}-.*Z$/),
      '--idempotency-key',
      server.requests[0]!.headers['idempotency-key'],
    ]);
    expect(await runCli([...args, flag, '2h', ...words, '--city', 'alpha', '--api', server.url], fakeIo())).toBe(0);
    expect(server.requests[1]!.body).toBe(server.requests[0]!.body);
  });

  it('is told so where a proxy says that nobody has answered it', async () => {
    const io = await run((_request, response) => void response.writeHead(504).end('<html>'), ...CREATE);
    expect(io.stderr).toMatch(/^svc bead create: API returned HTTP 504: it may have been done; repeat it with `--idempotency-key \w+`\n$/);
  });

  it.each<[string, number, string]>([
    ['says that nothing was changed', 503, 'unavailable: busy; nothing was changed, try again; a try before it had no answer'],
    ['refuses it', 409, 'conflict: no; a try before it had no answer'],
    ['says that the work goes on', 409, 'idempotency-in-flight: later'],
  ])('is told so where one address breaks off and another %s', async (_what, status, said) => {
    server = await testServer({ '/v0/city/alpha/beads': lost });
    const detail = said.replace('; a try before it had no answer', '');
    const other = await testServer({ '/v0/city/alpha/beads': (_request, response) => problem(response, status, detail) });
    const io = fakeIo();
    expect(await runCli([...CREATE, '--city', 'alpha', '--api', `${server.url},${other.url}`], io)).toBe(5);
    await other.close();
    const keys = [server, other].map(({ requests }) => requests[0]!.headers['idempotency-key'] as string);
    expect(io.stderr).toBe(`svc bead create: ${said}: it may have been done; repeat it with \`--idempotency-key ${keys[0]}\`\n`);
    expect(keys[1]).toBe(keys[0]);
  });

  it('is told by the service itself, which does not know, with the key', async () => {
    const unknown = 'unavailable: it is not known whether it was done';
    const io = await run((_request, response) => problem(response, 503, `${unknown}; repeat it with the same Idempotency-Key`), ...CREATE);
    const key = server.requests[0]!.headers['idempotency-key'] as string;
    expect([io.code, io.stderr]).toEqual([5, `svc bead create: ${unknown}; repeat it with \`--idempotency-key ${key}\`\n`]);
  });

  it('is a refusal where another address has one that each would have said', async () => {
    server = await testServer({ '/v0/city/alpha/beads': lost });
    const other = await testServer({ '/v0/city/alpha/beads': (_request, response) => problem(response, 400, 'bad-request: no') });
    const io = fakeIo();
    expect(await runCli([...CREATE, '--city', 'alpha', '--api', `${server.url},${other.url}`], io)).toBe(4);
    await other.close();
    expect(io.stderr).toBe('svc bead create: bad-request: no\n');
  });

  it('is told so by the only address, whose work under the key goes on', async () => {
    const io = await run(
      (_request, response) => problem(response, 409, 'idempotency-in-flight: later'),
      ...CREATE,
      '--idempotency-key',
      'k1',
    );
    expect([io.code, io.stderr]).toEqual([
      5,
      expect.stringMatching(/later: it may have been done; repeat it with `--idempotency-key k1`\n$/),
    ]);
  });

  it('keeps its key where a command adds what to do', async () => {
    server = await testServer({
      '/v0/city/alpha/sling': (_request, response) => problem(response, 409, 'idempotency-in-flight: later'),
    });
    const io = fakeIo();
    await runCli(['sling', 'mayor', 'a-1', '--city', 'alpha', '--api', server.url], io);
    expect(io.stderr).toMatch(/: it may have been done; see `svc bead show a-1`; repeat it with `--idempotency-key \w+`\n$/);
  });

  it('goes on with what to do where an order is disabled', async () => {
    const ORDER = '/v0/city/alpha/order/nightly/run';
    server = await testServer({ [ORDER]: lost });
    const other = await testServer({ [ORDER]: (_request, response) => problem(response, 409, 'conflict: order "nightly" is disabled') });
    const io = fakeIo();
    expect(await runCli(['order', 'run', 'nightly', '--city', 'alpha', '--api', `${server.url},${other.url}`], io)).toBe(5);
    await other.close();
    const said = 'order "nightly" is disabled; a try before it had no answer: it may have been done';
    expect(io.stderr).toContain(`${said}; \`svc order enable nightly\` lets it come; repeat it with \`--idempotency-key `);
  });

  it('names no key where the command takes none', async () => {
    const io = await run(lost, 'bead', 'close', 'a-1');
    expect(io.stderr).toMatch(/^svc bead close: the connection to .* broke before the answer .*: it may have been done\n$/);
  });

  it.each<[string, Handler, string[], RegExp]>([
    ['only reads', lost, ['bead', 'list'], /cannot reach the supervisor/],
    ['the service has refused', (_request, response) => problem(response, 503, 'unavailable: later'), CREATE, /unavailable: later\n$/],
  ])('is another thing where it %s', async (_what, handler, args, said) => {
    const io = await run(handler, ...args);
    expect(io.stderr).toMatch(said);
    expect(io.stderr).not.toContain('may have been done');
  });

  it('is another thing where nobody has got it', async () => {
    server = await testServer({});
    await server.close();
    const io = fakeIo();
    await runCli([...CREATE, '--city', 'alpha', '--api', server.url], io);
    expect(io.stderr).toContain('(ECONNREFUSED): is it running?');
  });
});
