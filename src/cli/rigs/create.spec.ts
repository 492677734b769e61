import { afterEach, describe, expect, it, jest } from '@jest/globals';
import { eventually } from '../../../test/support/sse.js';
import { runCli } from '../cli.js';
import { collecting } from '../testing/collect.js';
import { fakeIo, type FakeIo } from '../testing/io.js';
import { anEvent, frame, stream, testServer, type Handler, type TestServer } from '../testing/server.js';
import { gitState, madeLine } from './view.js';

let server: TestServer;
let io: FakeIo;
afterEach(() => {
  jest.restoreAllMocks();
  return server?.close();
});

const told = (id: number, type: string, payload: object): string => frame(String(id), 'event', anEvent(id, { type, payload }));
const step = (id: number, name: string, values: object = {}): string =>
  told(id, 'rig.provision.progress', { rig: 'web', step: name, request_id: 'req-1', ...values });
const done = told(9, 'request.result.rig.create', { request_id: 'req-1', rig: 'web', prefix: 'we', default_branch: 'main' });

async function create(events: Handler, ...flags: string[]): Promise<number> {
  server = await testServer({
    '/v0/city/alpha/rigs': (_request, response) => {
      response.writeHead(202, { 'content-type': 'application/json' });
      response.end(JSON.stringify({ status: 'accepted', request_id: 'req-1', event_cursor: '4' }));
    },
    '/v0/city/alpha/events/stream': events,
  });
  io = fakeIo({ env: { SVC_API_URL: server.url, SVC_CITY: 'alpha' } });
  return runCli(['rig', 'create', 'web', '--git-url', 'https://git.example.org/web', ...flags], io);
}

/** Once the client has shown it. */
function seen(text: string, act: () => void): void {
  void eventually(() => io.stderr.includes(text)).then(act);
}

describe('waiting for a clone', () => {
  it('shows the steps of its own request and ends with its terminal event', async () => {
    const others = [
      step(5, 'clone', { request_id: 'req-0' }),
      told(6, 'request.failed', { request_id: 'req-0', error_code: 'x', error_message: 'y' }),
    ];
    const code = await create((_request, response) =>
      stream(response, ...others, step(7, 'clone'), step(8, 'git-detected', { detail: 'ma\u001b[1min' }), done),
    );
    expect([code, io.stdout]).toEqual([0, 'web is created: prefix we, branch main\n']);
    expect(io.stderr).toBe('creating web\ncreating web: clone\ncreating web: git-detected: main\n');
    const opened = new URL(server.requests.find(({ line }) => line.includes('/events/stream'))!.line.slice(4), server.url).searchParams;
    expect([opened.get('after_seq'), opened.getAll('type')]).toEqual([
      '4',
      ['request.result.rig.create', 'request.failed', 'rig.provision.progress'],
    ]);
  });

  it('goes on behind the last frame when the stream breaks', async () => {
    const code = await create((request, response, nth) => {
      if (nth > 1) {
        expect(request.headers['last-event-id']).toBe('7');
        return stream(response, done);
      }
      stream(response, 'retry: 10\n\n', step(7, 'clone'));
      seen('clone', () => response.destroy());
    });
    expect(code).toBe(0);
  });

  it('fails with the code and the message of request.failed, one JSON line with --json', async () => {
    const failed = told(8, 'request.failed', {
      request_id: 'req-1',
      operation: 'rig.create',
      error_code: 'clone_failed',
      error_message: 'no\nanswer',
    });
    expect(await create((_request, response) => stream(response, step(7, 'clone'), failed), '--json')).toBe(1);
    expect(JSON.parse(io.stdout)).toMatchObject({ type: 'request.failed', seq: 8 });
    expect(io.stderr).toBe('svc rig create: clone_failed: no answer\n');
  });

  it('ends at its time-out and at Ctrl-C also when what began the stream has been collected', async () => {
    const stop = collecting();
    try {
      expect(await create((_request, response) => stream(response, step(7, 'clone')), '--timeout', '300ms')).toBe(124);
      await server.close();
      const interrupted = await create((_request, response) => {
        stream(response, step(7, 'clone'));
        seen('clone', () => setTimeout(() => io.interrupt(), 100)); // collected meanwhile
      });
      expect(interrupted).toBe(130);
    } finally {
      stop();
    }
    expect(io.stderr).toContain('svc rig create: interrupted; the supervisor goes on with request req-1\n');
  });

  it('names the last step at its time-out, and waits for nothing with --no-wait', async () => {
    const over = new AbortController();
    const { timeout } = AbortSignal;
    jest.spyOn(AbortSignal, 'timeout').mockImplementation((ms) => (ms === 1_500 ? over.signal : timeout.call(AbortSignal, ms)));
    const waited = create(
      (_request, response) => {
        stream(response, step(7, 'clone'));
        seen('clone', () => over.abort(new DOMException('', 'TimeoutError')));
      },
      '--timeout',
      '1500ms',
    );
    expect(await waited).toBe(124);
    expect(io.stderr).toContain(
      'svc rig create: no end within the time-out, last phase clone; the supervisor goes on with request req-1\n',
    );
    await server.close();
    expect(await create(() => undefined, '--no-wait', '--idempotency-key', 'k-1')).toBe(0);
    expect([io.stdout, server.requests.length]).toEqual(['accepted: req-1\n', 1]);
    expect(server.requests[0]!.headers).toMatchObject({ 'x-svc-request': 'svc', 'idempotency-key': 'k-1' });
  });
});

describe('a rig', () => {
  it('tells the state of its repository', () => {
    const git = { branch: 'main', clean: true, changed_files: 0, ahead: 0, behind: 0 };
    expect([gitState(undefined, false), gitState(undefined, true), gitState(git, true)]).toEqual(['', 'unknown', 'main, clean']);
    expect(gitState({ ...git, clean: false, changed_files: 2, ahead: 1, behind: 3 }, true)).toBe('main, 2 changed, 1 ahead, 3 behind');
  });

  it('tells what is known of it when it is made', () => {
    expect([madeLine('web', 'is created', {}), madeLine('web', 'is created', { prefix: 'we' })]).toEqual([
      'web is created',
      'web is created: prefix we',
    ]);
  });
});
