import { afterEach, expect, it } from '@jest/globals';
import { runCli } from '../cli.js';
import { fakeIo } from '../testing/io.js';
import { frame, problem, stream, testServer, type TestServer } from '../testing/server.js';

let server: TestServer;
afterEach(() => server.close());

it('that are followed go on behind a restored database, which has fewer of them', async () => {
  const line = (seq: number, text: string): string => frame(String(seq), 'line', { seq, text });
  server = await testServer({
    '/v0/city/alpha/service/board/logs/stream': (_request, response, nth) => {
      if (nth === 2) return problem(response, 410, 'cursor_ahead: Last-Event-ID 7 is ahead of 3');
      stream(response, nth === 1 ? line(7, 'before') : line(3, 'after'));
      if (nth === 1) response.end();
    },
  });
  const io = fakeIo({ env: { SVC_API_URL: server.url, SVC_CITY: 'alpha' } });
  const following = runCli(['service', 'logs', 'board', '--follow'], io);
  await io.untilOut('after', 10_000);
  io.interrupt();
  expect([await following, io.stdout]).toEqual([130, 'before\nafter\n']);
  expect(server.requests.map(({ headers }) => headers['last-event-id'])).toEqual([undefined, '7', undefined]);
});
