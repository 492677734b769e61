import { afterEach, expect, it } from '@jest/globals';
import { runCli } from '../cli.js';
import { fakeIo } from '../testing/io.js';
import { stream, testServer, type TestServer } from '../testing/server.js';

let server: TestServer;
afterEach(() => server.close());

it('ends with what has failed beside its stream, such as the reading of what is typed', async () => {
  server = await testServer({ '/v0/city/alpha/session/mayor/stream': (_request, response) => stream(response) });
  const lines = async function* (): AsyncGenerator<string> {
    yield '';
    throw new Error('the terminal has gone');
  };
  const io = fakeIo({ env: { SVC_API_URL: server.url, SVC_CITY: 'alpha' }, lines });
  expect([await runCli(['session', 'watch', 'mayor'], io), io.stderr]).toEqual([1, 'svc session watch: the terminal has gone\n']);
});
