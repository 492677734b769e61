import { afterEach, expect, it } from '@jest/globals';
import { setTimeout as sleep } from 'node:timers/promises';
import { eventually } from '../../test/support/sse.js';
import { connect } from './api.js';
import { Progress } from './cities/progress.js';
import { awaitEnding } from './ending.js';
import { fakeIo } from './testing/io.js';
import { anEvent, frame, json, problem, stream, testServer, type Handler, type TestServer } from './testing/server.js';

const MISSING =
  'no worker that runs agents is alive, so nothing of it goes on; it waits for the start of a worker: `SVC_ROLE=worker svc serve`; see `svc doctor`\n';
const success = (operation: string): string =>
  frame('5', 'event', anEvent(5, { type: `request.result.${operation}`, payload: { request_id: 'req-1' } }));

let server: TestServer;
afterEach(() => server.close());

/** What is told to somebody who waits until something is told, or so many looks have been answered; and how many were. */
async function told(runners: Handler, looks: number, operation = 'session.create'): Promise<{ said: string; looked: number }> {
  let looked = 0;
  const io = fakeIo();
  server = await testServer({
    '/v0/runners': (request, response, nth) => {
      looked = nth;
      runners(request, response, nth);
    },
    '/v0/city/alpha/events/stream': (_request, response) => {
      stream(response);
      // Where nobody is to look, somebody who did would have by then.
      const late = looks === 0 ? sleep(150) : eventually(() => io.stderr !== '' || looked >= looks);
      void late.then(() => response.write(success(operation)));
    },
  });
  const api = connect({ url: server.url, source: 'from a test' } as Parameters<typeof connect>[0], io.signal);
  const accepted = { request_id: 'req-1', event_cursor: '4' };
  const progress = new Progress(io, 'making a session', true);
  const ending = await awaitEnding(api, {
    accepted,
    operation,
    city: 'alpha',
    timeoutMs: undefined,
    progress,
    lookMs: 10,
  });
  expect(ending.ok).toBe(true);
  return { said: io.stderr, looked };
}

const ALIVE = [{ state: 'active', lease_age_s: 1 }];

// Guard: with no worker alive whoever made a session waited for ten minutes without a word.
it('tells somebody who waits that no worker is alive, once, also when the last one dies meanwhile', async () => {
  const { said } = await told((_request, response, nth) => json(response, { items: nth === 1 ? ALIVE : [] }), Infinity);
  expect(said).toBe(MISSING);
});

it.each<[string, Handler]>([
  ['a worker is alive', (_request, response) => json(response, { items: ALIVE })],
  ['one is again a moment later', (_request, response, nth) => json(response, { items: nth % 2 === 1 ? [] : ALIVE })],
  ['nobody answers', (_request, response) => void response.destroy()],
])('tells nothing where %s', async (_what, runners) => {
  expect((await told(runners, 4)).said).toBe('');
});

it('asks no more where the key may not ask for workers, and not at all of what workers without agents do', async () => {
  const refused = await told((_request, response) => problem(response, 403, 'forbidden: not yours'), 1);
  expect(refused).toEqual({ said: '', looked: 1 });
  await server.close();
  expect(await told((_request, response) => json(response, { items: [] }), 0, 'rig.create')).toEqual({ said: '', looked: 0 });
});
