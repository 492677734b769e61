import { afterEach, expect, it } from '@jest/globals';
import { eventually } from '../../test/support/sse.js';
import { connect } from './api.js';
import { Progress } from './cities/progress.js';
import { awaitEnding } from './ending.js';
import { fakeIo } from './testing/io.js';
import { anEvent, frame, json, problem, stream, testServer, type Handler, type TestServer } from './testing/server.js';

const MISSING =
  'no worker is alive, so nothing of it goes on; it waits for the start of a worker: `SVC_ROLE=worker svc serve`; see `svc doctor`\n';
const success = frame('5', 'event', anEvent(5, { type: 'request.result.session.create', payload: { request_id: 'req-1' } }));

let server: TestServer;
afterEach(() => server.close());

/** What is told to somebody who waits, until so many looks have been answered. */
async function told(runners: Handler, looks: number): Promise<string> {
  let answered = 0;
  server = await testServer({
    '/v0/runners': (request, response, nth) => {
      runners(request, response, nth);
      answered = nth;
    },
    '/v0/city/alpha/events/stream': (_request, response) => {
      stream(response);
      void eventually(() => answered >= looks).then(() => setTimeout(() => response.write(success), 100));
    },
  });
  const io = fakeIo();
  const api = connect({ url: server.url, source: 'from a test' } as Parameters<typeof connect>[0], io.signal);
  const accepted = { request_id: 'req-1', event_cursor: '4' };
  const progress = new Progress(io, 'making a session', true);
  const ending = await awaitEnding(api, {
    accepted,
    operation: 'session.create',
    city: 'alpha',
    timeoutMs: undefined,
    progress,
    lookMs: 10,
  });
  expect(ending.ok).toBe(true);
  return io.stderr;
}

// Guard: with no worker alive whoever made a session waited for ten minutes without a word.
it('tells somebody who waits that no worker is alive, once, also when the last one dies meanwhile', async () => {
  const items = [{ state: 'active', lease_age_s: 1 }];
  expect(await told((_request, response, nth) => json(response, { items: nth === 1 ? items : [] }), 2)).toBe(MISSING);
});

it.each<[string, Handler]>([
  ['a worker is alive', (_request, response) => json(response, { items: [{ state: 'active', lease_age_s: 1 }] })],
  ['the key may not ask for workers', (_request, response) => problem(response, 403, 'forbidden: not yours')],
  ['nobody answers', (_request, response) => void response.destroy()],
])('tells nothing where %s', async (_what, runners) => {
  expect(await told(runners, 2)).toBe('');
});
