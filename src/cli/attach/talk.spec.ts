import { afterEach, expect, it } from '@jest/globals';
import { connect } from '../api.js';
import { json, problem, testServer, type Handler, type TestServer } from '../testing/server.js';
import { Talk } from './talk.js';

let server: TestServer;
afterEach(() => server.close());

async function talkTo(messages: Handler): Promise<Talk> {
  server = await testServer({ '/v0/city/alpha/session/al-7/messages': messages });
  const api = connect({ url: server.url, key: undefined, source: 'for a test' }, new AbortController().signal);
  const nothing = (): void => undefined;
  const size = { width: 80, colour: false };
  return new Talk({ api, city: 'alpha', session: 'al-7', size, say: nothing, note: nothing, leave: nothing, sent: nothing });
}

const accepted: Handler = (_request, response) => json(response, { request_id: 'r-1', event_cursor: '1', status: 'accepted' });
const lost: Handler = (request) => request.socket.destroy();
const keys = (): unknown[] => server.requests.map(({ headers }) => headers['idempotency-key']);

it('says that a message without an answer may have arrived, and sends it under its key when it is said again', async () => {
  const talk = await talkTo((request, response, nth) => (nth === 1 ? lost : accepted)(request, response, nth));
  await expect(talk.send('hello')).rejects.toThrow(
    `no answer from ${server.url}: UND_ERR_SOCKET: it may have been done; say the same again, and it arrives once`,
  );
  await talk.send('hello');
  await talk.send('hello');
  const [first, again, third] = keys();
  expect(again).toBe(first);
  expect(third).not.toBe(first);
});

it('takes another message, and one after a refusal, for a new one', async () => {
  const refused: Handler = (_request, response) => problem(response, 400, 'bad-request: no');
  const talk = await talkTo((request, response, nth) => ([lost, accepted, refused][nth - 1] ?? accepted)(request, response, nth));
  await expect(talk.send('hello')).rejects.toThrow('it may have been done');
  await talk.send('other');
  await expect(talk.send('hello')).rejects.toThrow(/^bad-request: no$/);
  await talk.send('hello');
  expect(new Set(keys()).size).toBe(4);
});
