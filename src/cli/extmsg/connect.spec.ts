import { afterEach, expect, it } from '@jest/globals';
import { runCli } from '../cli.js';
import { fakeIo } from '../testing/io.js';
import { frame, json, stream, testServer, type TestServer } from '../testing/server.js';

let server: TestServer;
afterEach(() => server.close());

it('ends with what has failed beside its stream, once what is under way is published', async () => {
  const conversation = { provider: 'chat', account_id: 'default', conversation_id: 'c', kind: 'dm' };
  const publication = (id: string): string =>
    frame(id, 'publication', { id, claim: 'x', claim_until: '2999-01-01T00:00:00Z', conversation, session_id: 's', text: id });
  const acks: string[] = [];
  server = await testServer({
    '/v0/city/alpha/extmsg/publications/stream': (_request, response) => stream(response, publication('one'), publication('two')),
    '/v0/city/alpha/extmsg/publication/one/ack': (_request, response) => {
      acks.push('one');
      json(response, {});
    },
  });
  const io = fakeIo({ env: { SVC_API_URL: server.url, SVC_CITY: 'alpha' } });
  io.out = (text) => (text.includes('two') ? Promise.reject(new Error('no room')) : Promise.resolve());
  expect(await runCli(['extmsg', 'connect', 'chat', '--exec', 'cat >/dev/null; echo 1'], io)).toBe(1);
  expect([io.stderr, acks]).toEqual(['svc extmsg connect: no room\n', ['one']]);
  // Whoever reads the report may go.
  expect(io.finishes).toBe(true);
});

it('acknowledges after Ctrl-C what was printed, for it counts as published', async () => {
  const conversation = { provider: 'chat', account_id: 'default', conversation_id: 'c', kind: 'dm' };
  const one = { id: 'one', claim: 'x', claim_until: '2999-01-01T00:00:00Z', conversation, session_id: 's', text: 'hello' };
  const acks: unknown[] = [];
  server = await testServer({
    '/v0/city/alpha/extmsg/publications/stream': (_request, response) => stream(response, frame('1', 'publication', one)),
    '/v0/city/alpha/extmsg/publication/one/ack': (_request, response) => {
      acks.push(JSON.parse(server.requests.at(-1)!.body));
      json(response, {});
    },
  });
  const io = fakeIo({ env: { SVC_API_URL: server.url, SVC_CITY: 'alpha' } });
  const { out } = io;
  io.out = (text) => {
    io.interrupt();
    return out(text);
  };
  expect(await runCli(['extmsg', 'connect', 'chat'], io)).toBe(130);
  expect([io.stdout, io.stderr]).toEqual([expect.stringContaining('hello'), '']);
  expect(acks).toEqual([{ claim: 'x', delivered: true, message_id: 'one' }]);
});
