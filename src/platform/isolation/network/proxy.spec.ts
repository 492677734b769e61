import { createServer, Server as HttpServer } from 'node:http';
import { connect, createServer as createNetServer, type AddressInfo, type Server } from 'node:net';
import { afterEach, describe, expect, it } from '@jest/globals';
import { loadConfig } from '../../config/config.js';
import { OutgoingGuard } from '../../outgoing/outgoing-guard.js';
import { createProxy, type ProxyRules } from './proxy.js';
import { allowsHost } from './rules.js';

const servers: Server[] = [];
afterEach(() => {
  for (const server of servers.splice(0)) {
    server.close();
    if (server instanceof HttpServer) server.closeAllConnections();
  }
});
const listening = async (server: Server): Promise<number> => {
  servers.push(server);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return (server.address() as AddressInfo).port;
};

/** The first line of what is answered to a request line, and to what goes with it. */
async function said(proxy: number, line: string, more = '\r\n'): Promise<string> {
  const socket = connect(proxy, '127.0.0.1', () => socket.write(`${line} HTTP/1.1\r\nHost: x\r\n${more}`));
  try {
    return await new Promise((resolve, reject) =>
      socket
        .once('data', (data) => resolve(String(data).split('\r\n')[0]!))
        .setTimeout(10_000, () => reject(new Error('no end')))
        .once('error', reject)
        .once('close', () => resolve('nothing')),
    );
  } finally {
    socket.destroy();
  }
}

describe('rules', () => {
  it('name hosts, and all names below one, and each has its say', () => {
    expect(allowsHost([['example.com']], 'EXAMPLE.com.')).toBe(true);
    expect(allowsHost([['example.com']], 'www.example.com')).toBe(false);
    expect(
      ['a.example.com', 'a.b.example.com', 'example.com', 'badexample.com'].map((host) => allowsHost([['*.example.com']], host)),
    ).toEqual([true, true, false, false]);
    expect(allowsHost([['a.com', 'b.com'], ['b.com']], 'a.com')).toBe(false);
    expect(allowsHost([['a.com', 'b.com'], ['b.com']], 'b.com')).toBe(true);
    expect(allowsHost([['a.com'], 'api'], 'a.com')).toBe(false);
  });
});

describe('the way out of a sandbox', () => {
  const open = async (wanted: ProxyRules, answers: Record<string, string[]> = {}): Promise<{ proxy: number; refused: string[] }> => {
    const guard = OutgoingGuard.with(loadConfig({}, '/'), (host) => Promise.resolve(answers[host] ?? []));
    const refused: string[] = [];
    return {
      proxy: await listening(
        createProxy(
          'demo',
          () => wanted,
          guard,
          (host) => refused.push(host),
        ),
      ),
      refused,
    };
  };

  it('refuses a listed name that leads to a private address, and tells of it', async () => {
    const listed = { rules: [['inner.example.com', 'meta.example.com']], api: undefined };
    const { proxy, refused } = await open(listed, { 'inner.example.com': ['10.0.0.1'], 'meta.example.com': ['169.254.169.254'] });
    for (const host of ['inner.example.com', 'meta.example.com']) {
      expect(await said(proxy, `CONNECT ${host}:443`)).toContain('403');
      expect(await said(proxy, `GET http://${host}/`)).toContain('403');
    }
    expect(new Set(refused)).toEqual(
      new Set(['inner.example.com:443', 'inner.example.com:80', 'meta.example.com:443', 'meta.example.com:80']),
    );
  });

  it('reaches the API on its own port only', async () => {
    const port = await listening(createServer((_request, response) => response.end('api')));
    const { proxy } = await open({ rules: ['api'], api: new URL(`http://127.0.0.1:${port}`) });
    expect(await said(proxy, `CONNECT 127.0.0.1:${port}`)).toContain('200');
    expect(await said(proxy, `GET http://127.0.0.1:${port}/`)).toContain('200');
    expect(await said(proxy, 'CONNECT 127.0.0.1:1')).toContain('403');
    expect(await said(proxy, 'CONNECT nonsense')).toContain('400');
    expect(await said(proxy, 'GET /')).toContain('400');
  });

  it('goes to the next address of a name where there is no connection with one', async () => {
    const port = await listening(createServer((_request, response) => response.end('there')));
    const guard = OutgoingGuard.with(loadConfig({ SVC_ALLOWED_TARGETS: `two.example.com:${port}` }, '/'), () =>
      Promise.resolve(['127.0.0.2', '127.0.0.1']),
    );
    const rules: ProxyRules = { rules: [['two.example.com']], api: undefined };
    const proxy = await listening(
      createProxy(
        'demo',
        () => rules,
        guard,
        () => undefined,
      ),
    );
    expect(await said(proxy, `CONNECT two.example.com:${port}`)).toContain('200');
    expect(await said(proxy, `GET http://two.example.com:${port}/`)).toContain('200');
  });

  // Guard: no request, and no answer, ends the worker.
  it('takes what no proxy may hand on for its own, and outlives it', async () => {
    const heard: string[] = [];
    const api = createServer({ requireHostHeader: false }, ({ headers }, response) => {
      heard.push(...Object.keys(headers));
      response.end('api');
    });
    const port = await listening(api);
    const { proxy } = await open({ rules: ['api'], api: new URL(`http://127.0.0.1:${port}`) });
    for (const more of [
      'Trailer: x\r\n\r\n',
      'Trailer: x\r\nExpect: 100-continue\r\n\r\n',
      'Trailer: x\r\nContent-Length: 4\r\n\r\nbody',
      'TE: trailers\r\nConnection: x-mine\r\nX-Mine: 1\r\nProxy-Authorization: Basic eDp5\r\nKeep-Alive: timeout=5\r\n\r\n',
    ])
      expect(await said(proxy, `POST http://127.0.0.1:${port}/`, more)).toMatch(/^HTTP\/1\.1 (200|100)/);
    const gone = ['trailer', 'expect', 'te', 'x-mine', 'proxy-authorization', 'keep-alive'];
    expect(heard.filter((name) => gone.includes(name))).toEqual([]);
  });

  it.each([
    ['099 X\r\nContent-Length: 9\r\n\r\nbody', 'HTTP/1.1 502 Bad Gateway'],
    ['101 X\r\nContent-Length: 0\r\n\r\n', 'HTTP/1.1 502 Bad Gateway'],
    ['200 \x01\r\nTrailer: x\r\nContent-Length: 0\r\n\r\n', 'HTTP/1.1 200 OK'],
    ['101 X\r\nUpgrade: x\r\nConnection: Upgrade\r\n\r\n', 'nothing'],
  ])('outlives what it is answered: %j', async (text, expected) => {
    const api = createNetServer((socket) => void socket.on('error', () => undefined).once('data', () => socket.end(`HTTP/1.1 ${text}`)));
    const port = await listening(api);
    const { proxy } = await open({ rules: ['api'], api: new URL(`http://127.0.0.1:${port}`) });
    expect(await said(proxy, `GET http://127.0.0.1:${port}/`)).toBe(expected);
  });
});
