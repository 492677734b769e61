import { afterEach, describe, expect, it, jest } from '@jest/globals';
import { runCli } from './cli.js';
import { fakeIo } from './testing/io.js';
import { json, problem, testServer, type Handler, type TestServer } from './testing/server.js';

let server: TestServer;
afterEach(() => {
  jest.restoreAllMocks();
  return server.close();
});

/** The cities of the key that a command asks for. */
async function citiesOf(...args: readonly string[]): Promise<unknown> {
  server = await testServer({
    '/v0/keys': (_request, response) => json(response, { id: 'k1', key: 'svc_x' }),
    '/v0/info': (_request, response) => json(response, { auth: 'keys' }),
  });
  const io = fakeIo({ env: { SVC_API_URL: server.url } });
  expect([await runCli(args, io), io.stdout]).toEqual([0, 'svc_x\n']);
  return (JSON.parse(server.requests[0]!.body) as { cities?: unknown }).cities;
}

describe('svc key create', () => {
  const create = ['key', 'create', '--name', 'bot', '--scope', 'operate'];

  it.each<[string[], string[] | undefined]>([
    [create, undefined],
    [
      [...create, '--city', 'alpha', '--city', 'beta'],
      ['alpha', 'beta'],
    ],
    [['--city', 'alpha', ...create], ['alpha']],
    [['--no-city', ...create], undefined],
  ])('%j is for the cities that were named, wherever they were', async (args, cities) => {
    expect(await citiesOf(...args)).toEqual(cities);
  });

  it.each([[[]], [['--json']]])('says which of the cities is not there, with %j too', async (flags) => {
    const cities = [{ name: 'alpha', path: '/alpha', running: true }];
    server = await testServer({
      '/v0/keys': (_request, response) => json(response, { id: 'k1', key: 'svc_x' }),
      '/v0/info': (_request, response) => json(response, { auth: 'keys' }),
      '/v0/cities': (_request, response) => json(response, { items: cities, total: 1 }),
    });
    const io = fakeIo({ env: { SVC_API_URL: server.url } });
    expect(await runCli([...create, '--city', 'alpha', '--city', 'nodemo', ...flags], io)).toBe(0);
    expect(io.stdout).toContain('svc_x');
    expect(io.stderr.match(/^warning: .*$/gm)).toEqual(['warning: there is no city nodemo yet']);
  });
});

describe('svc key rotate', () => {
  it.each<[string, Handler, readonly string[], string | undefined]>([
    [
      'lost',
      (request) => request.socket.destroy(),
      [],
      'rotate it again, once more only: the two secrets before stay good for their time, and a third rotation',
    ],
    ['lost, with no grace', (request) => request.socket.destroy(), ['--grace', '0s'], 'rotate it again\n'],
    ['not known', (_request, response) => problem(response, 503, 'unavailable: no'), [], 'rotate it again, once more only'],
    ['that of a proxy', (_request, response) => response.writeHead(504).end('no'), [], 'rotate it again, once more only'],
    [
      'that nothing was done',
      (_request, response) => problem(response, 503, 'unavailable: no; nothing was changed, try again'),
      [],
      undefined,
    ],
    ['no', (_request, response) => problem(response, 403, 'forbidden: no'), [], undefined],
  ])('says what to do when the answer is %s', async (_what, handler, flags, said) => {
    server = await testServer({ '/v0/keys/4be01f9c2d77/rotate': handler });
    const io = fakeIo({ env: { SVC_API_URL: server.url } });
    expect(await runCli(['key', 'rotate', '4be01f9c2d77', ...flags], io)).not.toBe(0);
    if (said === undefined) expect(io.stderr).not.toContain('rotate it again');
    else expect(io.stderr).toContain(`the key may have a new secret that nobody has seen: ${said}`);
  });

  it('says until when the one before is good, to the second', async () => {
    const rotated = { id: '4be01f9c2d77', name: 'ann', key: 'svc_4be01f9c2d77_x', previous_until: '2126-11-30T21:59:53.494Z' };
    server = await testServer({ '/v0/keys/4be01f9c2d77/rotate': (_request, response) => json(response, rotated) });
    const io = fakeIo({ env: { SVC_API_URL: server.url } });
    expect(await runCli(['key', 'rotate', '4be01f9c2d77'], io)).toBe(0);
    expect(io.stderr).toContain('the one before is good until 2126-11-30T21:59:53Z:\n');
    expect(io.stdout).toBe('svc_4be01f9c2d77_x\n');
  });

  it('says what to do when no answer comes', async () => {
    const { timeout } = AbortSignal;
    jest.spyOn(AbortSignal, 'timeout').mockImplementation((ms) => timeout.call(AbortSignal, Math.min(ms, 200)));
    server = await testServer({ '/v0/keys/4be01f9c2d77/rotate': () => undefined });
    const io = fakeIo({ env: { SVC_API_URL: server.url } });
    expect(await runCli(['key', 'rotate', '4be01f9c2d77'], io)).toBe(124);
    expect(io.stderr).toMatch(
      /no answer from .* within 30 s: it may have been done; the key may have a new secret that nobody has seen: rotate it again/,
    );
  });
});

describe.each([
  ['revoke', 'DELETE /v0/keys/4be01f9c2d77', ''],
  ['rotate', 'POST /v0/keys/4be01f9c2d77/rotate', '/rotate'],
])('svc key %s', (verb, line, path) => {
  const asked = async (given: string, name = 'ann') => {
    const items = [
      { id: '4be01f9c2d76', name: 'anna' },
      { id: '4be01f9c2d77', name },
    ];
    server = await testServer({
      '/v0/keys': (request, response) =>
        json(response, request.url!.includes('cursor') ? { items: items.slice(1) } : { items: items.slice(0, 1), next_cursor: 'next' }),
      [`/v0/keys/4be01f9c2d77${path}`]: (_request, response) => json(response, { name: 'ann', key: 'svc_x', previous_until: null }),
    });
    const io = fakeIo({ env: { SVC_API_URL: server.url } });
    return { code: await runCli(['key', verb, given], io), stderr: io.stderr, lines: server.requests.map((request) => request.line) };
  };

  it('takes an id, and asks for no other key', async () => {
    expect(await asked('4be01f9c2d77')).toMatchObject({ code: 0, lines: [line] });
  });

  it('takes a name', async () => {
    expect(await asked('ann')).toMatchObject({ code: 0, lines: ['GET /v0/keys', 'GET /v0/keys?cursor=next', line] });
  });

  it('takes a name that looks like an id which no key has', async () => {
    const looked = await asked('deadbeef0000', 'deadbeef0000');
    expect(looked).toMatchObject({
      code: 0,
      lines: [line.replace('4be01f9c2d77', 'deadbeef0000'), 'GET /v0/keys', 'GET /v0/keys?cursor=next', line],
    });
  });

  it('refuses what no key is called', async () => {
    const refused = await asked('an');
    expect([refused.code, refused.stderr, refused.lines.length]).toEqual([
      3,
      `svc key ${verb}: no key has the id or the name an; see \`svc key list\`\n`,
      2,
    ]);
  });
});
