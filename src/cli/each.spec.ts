import { afterEach, describe, expect, it } from '@jest/globals';
import { runCli } from './cli.js';
import { fakeIo, type FakeIo } from './testing/io.js';
import { json, problem, testServer, type Handler, type TestServer } from './testing/server.js';

let server: TestServer;
let io: FakeIo;
afterEach(() => server.close());

const closed: Handler = (_request, response) => json(response, { status: 'closed' });
const routes = (more: Record<string, Handler> = {}): Record<string, Handler> => ({
  '/v0/city/alpha/bead/al-1/close': closed,
  '/v0/city/alpha/bead/al-2/close': (_request, response) => problem(response, 404, 'not_found: no such bead'),
  '/v0/city/alpha/bead/al-3/close': closed,
  ...more,
});

async function close(handlers: Record<string, Handler>, ...args: string[]): Promise<number> {
  server = await testServer(handlers);
  io = fakeIo({ env: { SVC_API_URL: server.url, SVC_CITY: 'alpha' } });
  return runCli(['bead', 'close', ...args], io);
}

describe('several names', () => {
  it('are all done although one fails, which is told and ends with 1', async () => {
    expect(await close(routes(), 'al-1', 'al-2', 'al-3')).toBe(1);
    expect(io.stdout).toBe('al-1 is closed\nal-3 is closed\n');
    expect(io.stderr).toBe('svc bead close: al-2: not_found: no such bead\nsvc bead close: 1 of 3 failed, the rest is done\n');
  });

  it('are one JSON line each, with the name', async () => {
    expect(await close(routes(), 'al-1', 'al-3', '--json')).toBe(0);
    expect(io.stdout).toBe('{"id":"al-1","status":"closed"}\n{"id":"al-3","status":"closed"}\n');
  });

  it('are done once each', async () => {
    await close(routes(), 'al-1', 'al-1');
    expect(server.requests).toHaveLength(1);
  });

  it('end at once when nobody answers any more', async () => {
    const gone: Handler = (request) => request.socket.destroy();
    expect(await close(routes({ '/v0/city/alpha/bead/al-2/close': gone }), 'al-1', 'al-2', 'al-3')).toBe(5);
    expect([io.stdout, server.requests.length]).toEqual(['al-1 is closed\n', 2]);
    expect(io.stderr).toMatch(/^svc bead close: cannot reach the supervisor/);
  });

  it('end at once at Ctrl-C', async () => {
    const interrupt: Handler = () => io.interrupt();
    expect(await close(routes({ '/v0/city/alpha/bead/al-2/close': interrupt }), 'al-1', 'al-2', 'al-3')).toBe(130);
    expect([io.stdout, server.requests.length]).toEqual(['al-1 is closed\n', 2]);
  });
});

describe('one name', () => {
  it('fails as the command', async () => {
    expect(await close(routes(), 'al-2')).toBe(3);
    expect(io.stderr).toBe('svc bead close: not_found: no such bead\n');
  });
});
