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

it('says that a message without an answer may have arrived, and where to look', async () => {
  const talk = await talkTo(lost);
  await expect(talk.send('hello')).rejects.toThrow(
    `no answer from ${server.url}: UND_ERR_SOCKET: it may have been done; look with \`svc session messages al-7\` before you say it again`,
  );
});

it('takes the same said again for another message, also where the first one may have arrived', async () => {
  const talk = await talkTo((request, response, nth) => (nth === 1 ? lost : accepted)(request, response, nth));
  await expect(talk.send('yes')).rejects.toThrow('it may have been done');
  await talk.send('yes');
  expect(new Set(keys()).size).toBe(2);
});

it('says nothing of that where it was refused', async () => {
  const talk = await talkTo((_request, response) => problem(response, 400, 'bad-request: no'));
  await expect(talk.send('hello')).rejects.toThrow(/^bad-request: no$/);
});
