import { afterEach, describe, expect, it } from '@jest/globals';
import { eventually } from '../../../test/support/sse.js';
import { runCli } from '../cli.js';
import { fakeIo, type FakeIo } from '../testing/io.js';
import { anEvent, frame, json, stream, testServer, type Handler, type TestServer } from '../testing/server.js';
import { startOf } from '../../client/waiting.js';

const accepted = { status: 'accepted', request_id: 'req-1', event_cursor: '__supervisor__:4,alpha:9' };
const result = (values: Record<string, unknown>): string =>
  frame('__supervisor__:5', 'tagged_event', anEvent(5, { city: 'alpha', type: 'request.result.city.create', ...values }));
const success = result({ payload: { request_id: 'req-1', name: 'alpha', path: '/c/alpha' } });

let server: TestServer;
let io: FakeIo;
afterEach(() => server.close());

async function create(events: Handler, ...flags: string[]): Promise<number> {
  server = await testServer({
    '/v0/city': (_request, response) => {
      response.statusCode = 202;
      response.setHeader('content-type', 'application/json');
      response.end(JSON.stringify(accepted));
    },
    '/v0/cities': (_request, response, nth) =>
      json(response, {
        items: [{ name: 'alpha', path: '/c/alpha', running: false, status: nth === 1 ? 'loading_config' : 'starting_agents' }],
        total: 1,
      }),
    '/v0/events/stream': events,
  });
  io = fakeIo({ env: { SVC_API_URL: server.url } });
  return runCli(['city', 'create', 'alpha', '--provider', 'loopback', ...flags], io);
}

describe('waiting for an operation', () => {
  it('takes the terminal event of its own request and says where the city is', async () => {
    const other = result({ seq: 4, payload: { request_id: 'req-0', name: 'beta', path: '/c/beta' } });
    const code = await create((_request, response) => {
      stream(response, other);
      void eventually(() => io.stderr.includes('starting_agents')).then(() => response.write(success));
    });
    expect([code, io.stdout]).toEqual([0, 'alpha is running: /c/alpha\n']);
    expect(io.stderr).toBe('creating alpha\ncreating alpha: loading_config\ncreating alpha: starting_agents\n');
    const post = server.requests.find((r) => r.line === 'POST /v0/city')!;
    expect(post.headers['x-svc-request']).toBe('svc');
    expect(JSON.parse(post.body)).toEqual({ dir: 'alpha', provider: 'loopback' });
    const opened = new URL(server.requests.find((r) => r.line.includes('/v0/events/stream'))!.line.slice(4), server.url);
    expect(opened.searchParams.get('after_cursor')).toBe(accepted.event_cursor);
  });

  it('fails with the code and the message of request.failed', async () => {
    const payload = {
      request_id: 'req-1',
      operation: 'city.create',
      error_code: 'city_config_failed',
      error_message: 'city.toml:\nline 3',
    };
    const code = await create((_request, response) => stream(response, result({ type: 'request.failed', payload })));
    expect([code, io.stdout]).toEqual([1, '']);
    expect(io.stderr).toContain('svc city create: city_config_failed: city.toml: line 3\n');
  });

  it('resumes when its stream breaks', async () => {
    const code = await create((request, response, nth) => {
      if (nth === 1) {
        stream(response, 'retry: 100\n\n', frame('b-1', 'heartbeat', {}));
        setTimeout(() => response.destroy(), 50);
        return;
      }
      expect(request.headers['last-event-id']).toBe('b-1');
      stream(response, success);
    });
    expect(code).toBe(0);
  });

  it('prints the terminal event and nothing else with --json', async () => {
    const code = await create((_request, response) => stream(response, success), '--json');
    expect(code).toBe(0);
    expect(JSON.parse(io.stdout)).toMatchObject({ type: 'request.result.city.create', payload: { request_id: 'req-1' } });
    expect(io.stderr).toBe('');
  });

  it('prints the accepted request with --no-wait --json and opens no stream', async () => {
    const code = await create(() => undefined, '--no-wait', '--json');
    expect([code, JSON.parse(io.stdout)]).toEqual([0, accepted]);
    expect(server.requests).toHaveLength(1);
  });

  it('stops waiting after --timeout and says what goes on', async () => {
    const code = await create((_request, response) => stream(response), '--timeout', '1500ms');
    expect(code).toBe(124);
    expect(io.stderr).toMatch(/no end within the time-out, last phase \w+; the supervisor goes on with request req-1\n$/);
  });

  it('ends at Ctrl-C and says what goes on', async () => {
    const code = await create((_request, response) => {
      stream(response);
      void eventually(() => io.stderr.includes('starting_agents')).then(() => io.interrupt());
    });
    expect(code).toBe(130);
    expect(io.stderr).toContain('interrupted; the supervisor goes on with request req-1\n');
  });

  it('sends an idempotency key when it is given one', async () => {
    await create(() => undefined, '--no-wait', '--idempotency-key', 'k-1');
    expect(server.requests[0]!.headers['idempotency-key']).toBe('k-1');
  });
});

describe('startOf', () => {
  it('shortens a cursor that is too long for an address to the stream of terminal events', () => {
    const cities = Array.from({ length: 1_000 }, (_, n) => `city-${n}:${n}`).join(',');
    expect(startOf('__supervisor__:4,alpha:9')).toBe('__supervisor__:4,alpha:9');
    expect(startOf(`__supervisor__:4,${cities}`)).toBe('__supervisor__:4');
  });
});
