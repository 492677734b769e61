import type { ServerResponse } from 'node:http';
import { expect, it } from '@jest/globals';
import { runCli } from '../cli.js';
import { fakeIo } from '../testing/io.js';
import { frame, json, problem, stream, testServer, type Handler } from '../testing/server.js';

const SESSION = '/v0/city/alpha/session/al-1';

async function attach(state: string, routes: Readonly<Record<string, Handler>>, lines: readonly string[] = ['hello']) {
  const server = await testServer({
    [SESSION]: (_request, response) => json(response, { id: 'al-1', state, template: 'mayor' }),
    ...routes,
  });
  const received = async function* (): AsyncGenerator<string> {
    yield* lines;
  };
  const io = Object.assign(fakeIo(), { received });
  const code = await runCli(['attach', 'al-1', '--tail', '0', '--city', 'alpha', '--api', server.url], io);
  await server.close();
  return { code, stdout: io.stdout, stderr: io.stderr };
}

const entry = (id: string, role: string, text: string) => ({ id, role, status: 'final', blocks: [{ type: 'text', text }] });
const ended: Handler = (_request, response) => json(response, { id: 'm', status: 'delivered', stop_reason: 'end_turn' });
const said = [entry('m', 'user', 'hello'), entry('n', 'assistant', 'echo: hello')];

it('shows the answer to a line, however late its stream begins', async () => {
  const open: ServerResponse[] = [];
  let sent = false;
  const ends = [frame('3', 'structured', { operation: 'upsert', structured_messages: said }), frame('4', 'activity', { activity: 'idle' })];
  const { code, stdout, stderr } = await attach('active', {
    [`${SESSION}/messages/m`]: ended,
    [`${SESSION}/transcript`]: (_request, response) => json(response, {}),
    [`${SESSION}/messages`]: ({ method }, response) => {
      if (method === 'GET') return json(response, { items: [{ id: 'm', request_id: 'r' }] });
      sent = true;
      json(response, { request_id: 'r', event_cursor: 'c' });
      for (const one of open) for (const each of ends) one.write(each);
    },
    [`${SESSION}/stream`]: (_request, response, nth) => {
      const begin = (): void => {
        stream(response, frame('2', 'structured', { operation: 'snapshot', structured_messages: sent && nth === 1 ? said : [] }));
        open.push(response);
        if (sent) for (const each of nth === 1 ? ends.slice(1) : ends) response.write(each);
      };
      // Whoever does not wait for it has sent the line by then.
      setTimeout(begin, nth === 1 ? 200 : 0);
    },
  });
  expect([code, stderr, stdout]).toEqual([0, '', expect.stringMatching(/> hello\necho: hello/)]);
}, 10_000);

it('shows the answer of a session that the message makes, whatever of before is left out', async () => {
  const { code, stdout, stderr } = await attach('active', {
    [SESSION]: (_request, response) => problem(response, 404, 'not_found: no session al-1'),
    '/v0/city/alpha/agent/al-1': (_request, response) => json(response, { name: 'al-1' }),
    [`${SESSION}/messages/m`]: ended,
    [`${SESSION}/transcript`]: (_request, response) => json(response, {}),
    [`${SESSION}/messages`]: ({ method }, response) =>
      json(response, method === 'GET' ? { items: [{ id: 'm', request_id: 'r' }] } : { request_id: 'r', event_cursor: 'c' }),
    [`${SESSION}/stream`]: (_request, response) =>
      void stream(
        response,
        frame('2', 'structured', { operation: 'snapshot', structured_messages: said }) + frame('3', 'activity', { activity: 'idle' }),
      ),
  });
  expect([code, stderr, stdout]).toEqual([0, '', expect.stringMatching(/> hello\necho: hello/)]);
}, 10_000);

it.each([
  [
    'cut off',
    { status: 'delivered', stop_reason: 'lost' },
    'the turn was cut off (lost), and its answer with it; send it again',
    'a message was not answered to its end: no more is sent',
  ],
  ['not delivered', { status: 'cancelled' }, 'the message was cancelled', 'a message was not delivered: no more is sent'],
])(
  'sends no line behind one that was %s, says so, and fails',
  async (_what, record, told, end) => {
    let sent = 0;
    const routes: Record<string, Handler> = {
      [SESSION]: (_request, response) => problem(response, 404, 'not_found: no session al-1'),
      '/v0/city/alpha/agent/al-1': (_request, response) => json(response, { name: 'al-1' }),
      [`${SESSION}/transcript`]: (_request, response) => json(response, {}),
      [`${SESSION}/messages`]: ({ method }, response) => {
        if (method === 'GET') return json(response, { items: [{ id: 'm', request_id: 'r' }] });
        sent += 1;
        json(response, { request_id: 'r', event_cursor: 'c' });
      },
      [`${SESSION}/messages/m`]: (_request, response) => json(response, { id: 'm', ...record }),
      [`${SESSION}/stream`]: (_request, response) =>
        void stream(
          response,
          frame('2', 'structured', { operation: 'snapshot', structured_messages: record.status === 'delivered' ? said : [] }) +
            frame('3', 'activity', { activity: 'idle' }),
        ),
    };
    const { code, stderr } = await attach('active', routes, ['hello', 'and then']);
    expect([code, sent, stderr]).toEqual([1, 1, `svc attach: ${told}\nsvc attach: ${end}\n`]);
  },
  10_000,
);

it.each([
  ['a closed session', 'closed'],
  ['a session that has closed since', 'active'],
])(
  'says that %s takes no line',
  async (_what, state) => {
    const { code, stderr } = await attach(state, {
      [`${SESSION}/transcript`]: (_request, response) => json(response, {}),
      [`${SESSION}/messages`]: (_request, response) => problem(response, 409, 'conflict: session al-1 is closed'),
      [`${SESSION}/stream`]: (_request, response) => void response.writeHead(204).end(),
    });
    expect([code, stderr]).toEqual([4, 'svc attach: conflict: session al-1 is closed\n']);
  },
  10_000,
);
