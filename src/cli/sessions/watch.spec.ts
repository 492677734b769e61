import { afterEach, expect, it } from '@jest/globals';
import { runCli } from '../cli.js';
import { fakeIo } from '../testing/io.js';
import { frame, stream, testServer, type TestServer } from '../testing/server.js';

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

it('prints of what was said before only so many entries as JSON, too, and all that comes later', async () => {
  const messages = ['one', 'two', 'three'].map((id) => ({ id, role: 'user', status: 'final', blocks: [] }));
  const told = (n: number, operation: 'snapshot' | 'reset' | 'upsert'): string =>
    frame(String(n), 'structured', { operation, structured_messages: messages });
  server = await testServer({
    '/v0/city/alpha/session/mayor/stream': (_request, response) =>
      stream(response, told(1, 'snapshot'), told(2, 'reset'), told(3, 'upsert')),
  });
  const io = fakeIo({ env: { SVC_API_URL: server.url, SVC_CITY: 'alpha' } });
  const watching = runCli(['session', 'watch', 'mayor', '--tail', '1', '--json'], io);
  await io.untilOut('upsert');
  io.interrupt();
  await watching;
  const shown = io.stdout
    .trim()
    .split('\n')
    .map((line) => (JSON.parse(line) as { data: { structured_messages: { id: string }[] } }).data);
  expect(shown.map((data) => data.structured_messages.map(({ id }) => id))).toEqual([
    ['three'],
    ['one', 'two', 'three'],
    ['one', 'two', 'three'],
  ]);
});
