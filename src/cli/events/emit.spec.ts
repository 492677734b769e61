import { afterEach, expect, it } from '@jest/globals';
import { runCli } from '../cli.js';
import { fakeIo } from '../testing/io.js';
import { json, testServer, type TestServer } from '../testing/server.js';

let server: TestServer;
afterEach(() => server.close());

it.each([
  ['a line for people', [], 'deploy.finished is recorded\n'],
  ['the answer as JSON', ['--json'], '{"status":"recorded","seq":7}\n'],
])('says of an event what has become of it: %s', async (_what, flags, said) => {
  server = await testServer({ '/v0/city/alpha/events': (_request, response) => json(response, { status: 'recorded', seq: 7 }) });
  const io = fakeIo({ env: { SVC_API_URL: server.url, SVC_CITY: 'alpha' } });
  expect([await runCli(['event', 'emit', 'deploy.finished', ...flags], io), io.stdout, io.stderr]).toEqual([0, said, '']);
});
