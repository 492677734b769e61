import { afterEach, expect, it } from '@jest/globals';
import { runCli } from '../cli.js';
import { fakeIo } from '../testing/io.js';
import { json, testServer, type TestServer } from '../testing/server.js';

let server: TestServer;
afterEach(() => server.close());

it.each([
  [[], [], 'no open sessions match; make one with `svc session create`, or see closed ones with --all\n'],
  [['-a'], ['all'], 'no sessions match; make one with `svc session create`\n'],
  [['--all'], ['all'], 'no sessions match; make one with `svc session create`\n'],
  [['--state', 'closed', '--state', 'asleep'], ['closed', 'asleep'], 'no sessions match; make one with `svc session create`\n'],
])('a list of sessions with %j asks for the states %j', async (flags, states, said) => {
  server = await testServer({
    '/v0/city/alpha/sessions': (_request, response) => json(response, { items: [], total: 0 }),
    '/v0/city/alpha/pending': (_request, response) => json(response, { items: [], total: 0 }),
  });
  const io = fakeIo();
  expect([await runCli(['session', 'list', '--city', 'alpha', '--api', server.url, ...flags], io), io.stderr]).toEqual([0, said]);
  const asked = server.requests.find(({ line }) => line.includes('/sessions'))!.line.split(' ')[1]!;
  expect(new URL(asked, 'http://x').searchParams.getAll('state')).toEqual(states);
});
