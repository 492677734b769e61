import { describe, expect, it } from '@jest/globals';
import { runCli } from './cli.js';
import { ApiError, UnreachableError } from './errors.js';
import { lookUntil } from './pauses.js';
import { fakeIo } from './testing/io.js';
import { frame, json, problem, stream, testServer, type Handler } from './testing/server.js';

const looks = { everyMs: 1, timeoutMs: undefined, goesOn: 'it goes on' };

describe('what is looked at until it has ended', () => {
  it('goes on when nobody answers a look', async () => {
    const io = fakeIo();
    const answers = [new UnreachableError('nobody answers'), undefined, new ApiError('unavailable: later', 503, undefined, 1), 'done'];
    const look = (): Promise<string | undefined> => {
      const next = answers.shift();
      return next instanceof Error ? Promise.reject(next) : Promise.resolve(next);
    };
    expect(await lookUntil(io, 'svc x', look, looks)).toBe('done');
    expect(io.stderr).toMatch(
      /^svc x: nobody answers; trying again in 1 s\nsvc x: connected again\nsvc x: unavailable: later; trying again in \d s\nsvc x: connected again\n$/,
    );
  });

  it('ends with what another look does not mend', async () => {
    const refused = new ApiError('not_found: gone', 404, undefined, undefined);
    await expect(lookUntil(fakeIo(), 'svc x', () => Promise.reject(refused), looks)).rejects.toBe(refused);
  });

  it.each([
    ['between two looks', () => Promise.resolve(undefined)],
    ['in a look that has no answer', () => new Promise<undefined>(() => undefined)],
  ])(
    'ends %s with Ctrl-C, and with its time',
    async (_when, look) => {
      const io = fakeIo();
      const late = { ...looks, everyMs: 600_000 };
      const waited = lookUntil(io, 'svc x', look, late);
      setImmediate(() => io.interrupt());
      await expect(waited).rejects.toMatchObject({ exitCode: 130, message: 'interrupted; it goes on' });
      const timed = lookUntil(fakeIo(), 'svc x', look, { ...late, timeoutMs: 1 });
      await expect(timed).rejects.toMatchObject({ exitCode: 124, message: 'no end within the time-out; it goes on' });
    },
    5_000,
  );
});

describe.each<[string[], string, string, object]>([
  [['order', 'run', 'nightly'], '/order/nightly/run', '/order/history/firing-1', { entry: { state: 'running' }, output: '' }],
  [['maintenance', 'run'], '/maintenance/dolt-gc', '/maintenance/status', { history: [] }],
  [['service', 'restart', 'board'], '/service/board/restart', '/service/board', { state: 'starting' }],
])('%j --wait', (command, path, state, answer) => {
  const waited = async (look: Handler, ...args: string[]) => {
    const server = await testServer({
      [`/v0/city/alpha${path}`]: (_request, response) => json(response, { tracking_id: 'firing-1', started_at: '2026-01-01T00:00:00Z' }),
      [`/v0/city/alpha${state}`]: look,
    });
    const io = fakeIo();
    const run = async (): Promise<number> => {
      try {
        return await runCli([...command, ...args, '--city', 'alpha', '--api', server.url], io);
      } finally {
        await server.close();
      }
    };
    const requests = () => server.requests.map(({ line }) => line.split(' ')[0]);
    return { io, server, ended: run(), requests };
  };

  it('is not ended, and not told as failed, by one look that nobody answers', async () => {
    const { io, ended, requests } = await waited((_request, response, nth) => {
      if (nth === 1) return problem(response, 503, 'unavailable: it starts', { 'retry-after': '0' });
      json(response, answer);
      if (nth === 3) io.interrupt();
    }, '--wait');
    expect([await ended, requests().slice(0, 3)]).toEqual([130, ['POST', 'GET', 'GET']]);
    expect(io.stderr).toMatch(/unavailable: it starts; trying again.*\n.*: connected again\n.*: interrupted; .* goes on.*: see `svc /);
  });

  it('waits no longer than it shall', async () => {
    const { io, ended } = await waited((_request, response) => json(response, answer), '--wait', '--timeout', '1s');
    expect([await ended, io.stderr]).toEqual([124, expect.stringContaining('no end within the time-out; ')]);
  });

  it('is what --timeout belongs to', async () => {
    const { io, ended, requests } = await waited(() => undefined, '--timeout', '5s');
    expect([await ended, requests(), io.stderr]).toEqual([2, [], expect.stringContaining('--timeout belongs to --wait\n')]);
  });
});

describe.each([
  [['session', 'watch', 'al-1'], '/v0/city/alpha/session/al-1/stream'],
  [['events', '--follow', '--after', '1'], '/v0/city/alpha/events/stream'],
  [['agent', 'output', 'mayor', '--follow'], '/v0/city/alpha/agent/mayor/output/stream'],
  [['service', 'logs', 'board', '--follow'], '/v0/city/alpha/service/board/logs/stream'],
  [['audit', '--follow'], '/v0/audit/stream'],
])('%j', (command, path) => {
  const following = (url: string) => {
    const io = fakeIo();
    return { io, ended: runCli([...command, '--city', 'alpha', '--api', url], io) };
  };

  it('ends where nobody has ever answered, as its siblings do', async () => {
    const server = await testServer({});
    await server.close();
    const { io, ended } = following(server.url);
    const untilTold = new Promise((resolve) => (io.err = (text) => resolve(text)));
    expect(await untilTold).toMatch(/^svc .*: cannot reach the supervisor at .* \(ECONNREFUSED\): is it running\?.*\n$/);
    io.interrupt();
    expect(await ended).toBe(5);
  }, 10_000);

  it('tries again when a connection was lost', async () => {
    const server = await testServer({
      [path]: (_request, response, nth) => {
        if (nth === 2) return response.destroy();
        stream(response, 'retry: 100\n\n', frame(String(nth), 'heartbeat', {}));
        if (nth === 1) response.end();
      },
    });
    const { io, ended } = following(server.url);
    const { err } = io;
    io.err = (text) => {
      err(text);
      if (text.includes('connected again')) io.interrupt();
    };
    expect([await ended, server.requests.length]).toEqual([130, 3]);
    expect(io.stderr).toMatch(/^svc .*; trying again in 1 s\nsvc .*: connected again\n$/);
    await server.close();
  }, 20_000);
});
