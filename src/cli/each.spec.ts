import { afterEach, describe, expect, it } from '@jest/globals';
import { EventEmitter } from 'node:events';
import { Readable, Writable } from 'node:stream';
import { runCli } from './cli.js';
import type { Surroundings } from './io.js';
import { run } from './run.js';
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

  it('are all done although one is empty, or dots, which nobody is asked about', async () => {
    expect(await close(routes(), 'al-1', '', '..', 'al-3')).toBe(1);
    expect(io.stdout).toBe('al-1 is closed\nal-3 is closed\n');
    const said = ['not an id: it is empty', 'not an id: ..', '2 of 4 failed, the rest is done'];
    expect(io.stderr).toBe(said.map((line) => `svc bead close: ${line}\n`).join(''));
    expect(server.requests).toHaveLength(2);
    await server.close();
    expect(await close(routes(), '')).toBe(2);
    expect(io.stderr).toBe('svc bead close: not an id: it is empty\n');
  });

  // Guard: nobody was told what had been done.
  it('are told as jq makes them although one fails', async () => {
    expect(await close(routes(), 'al-1', 'al-2', 'al-3', '--jq', '.[].id')).toBe(1);
    expect([io.stdout, io.stderr]).toEqual(['al-1\nal-3\n', expect.stringContaining('al-2: not_found: no such bead\n')]);
  });

  it('are one JSON line each, with the name', async () => {
    expect(await close(routes(), 'al-1', 'al-3', '--json')).toBe(0);
    expect(io.stdout).toBe('{"id":"al-1","status":"closed"}\n{"id":"al-3","status":"closed"}\n');
  });

  /** Runs it beside a reader who has gone after one line, or a disk that is full: its exit code, and what it says. */
  async function cut(code: string, ...args: string[]): Promise<{ readonly exit: number; readonly said: string }> {
    let lines = 0;
    let said = '';
    // That of a process may be written to again and again, and fails again.
    const stdout = Object.assign(new EventEmitter(), {
      write(data: string, done?: () => void): boolean {
        if (data !== '' && ++lines > 1) setImmediate(() => stdout.emit('error', Object.assign(new Error(code), { code })));
        done?.();
        return lines <= 1;
      },
    });
    const stderr = new Writable({ write: (data, _encoding, done) => ((said += String(data)), done()) });
    const env = { SVC_API_URL: server.url, SVC_CITY: 'alpha' };
    const around = { env, stdin: Readable.from([]), stdout, stderr, cwd: () => '/', on: () => undefined };
    return { exit: await run(args, around as unknown as Surroundings), said };
  }

  // Guard: the rest was left as it was, and the exit code said that all was done.
  it('are all done though nobody reads any more, and the exit code tells how', async () => {
    const names = ['al-1', 'al-3', 'al-2', 'al-4'];
    server = await testServer(routes({ '/v0/city/alpha/bead/al-4/close': closed }));
    expect((await cut('EPIPE', 'bead', 'close', ...names)).exit).toBe(1);
    expect(server.requests).toHaveLength(4);
    expect((await cut('EPIPE', 'bead', 'close', 'al-1', 'al-3', 'al-4')).exit).toBe(0);
    expect(server.requests).toHaveLength(7);
  });

  it('are shown no further when nobody reads any more', async () => {
    const shown: Handler = (_request, response) => json(response, { id: 'al-1', title: 'one' });
    server = await testServer({ '/v0/city/alpha/bead/al-1': shown, '/v0/city/alpha/bead/al-3': shown, '/v0/city/alpha/bead/al-4': shown });
    expect((await cut('EPIPE', 'bead', 'show', 'al-1', 'al-3', 'al-4', '--json')).exit).toBe(0);
    expect(server.requests.length).toBeLessThan(3);
  });

  it('say so where what they tell cannot be written', async () => {
    server = await testServer(routes());
    const said = 'svc: what was to be told cannot be written: ENOSPC\n';
    expect(await cut('ENOSPC', 'bead', 'close', 'al-1', 'al-3')).toEqual({ exit: 1, said });
  });

  // Guard: the rest was left as it was, and nobody was told so.
  it('are all done though what they tell cannot be written', async () => {
    const names = ['al-1', 'al-3', 'al-4', 'al-5'];
    server = await testServer(routes(Object.fromEntries(names.map((name) => [`/v0/city/alpha/bead/${name}/close`, closed]))));
    const said = 'svc: what was to be told cannot be written: ENOSPC\n';
    expect(await cut('ENOSPC', 'bead', 'close', ...names)).toEqual({ exit: 1, said });
    expect(server.requests).toHaveLength(4);
  });

  it('are shown no further where that cannot be written', async () => {
    const shown: Handler = (_request, response) => json(response, { id: 'al-1', title: 'one' });
    server = await testServer({ '/v0/city/alpha/bead/al-1': shown, '/v0/city/alpha/bead/al-3': shown, '/v0/city/alpha/bead/al-4': shown });
    expect((await cut('ENOSPC', 'bead', 'show', 'al-1', 'al-3', 'al-4', '--json')).exit).toBe(1);
    expect(server.requests.length).toBeLessThan(3);
  });

  it('are done once each', async () => {
    await close(routes(), 'al-1', 'al-1');
    expect(server.requests).toHaveLength(1);
  });

  it('end at once when nobody answers any more', async () => {
    const gone: Handler = (request) => request.socket.destroy();
    expect(await close(routes({ '/v0/city/alpha/bead/al-2/close': gone }), 'al-1', 'al-2', 'al-3')).toBe(5);
    expect([io.stdout, server.requests.length]).toEqual(['al-1 is closed\n', 2]);
    expect(io.stderr).toMatch(/^svc bead close: the connection to .* broke before the answer .*: it may have been done/);
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
