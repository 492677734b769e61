import { afterEach, expect, it } from '@jest/globals';
import { runCli } from '../cli.js';
import { fakeIo } from '../testing/io.js';
import { json, testServer, type TestServer } from '../testing/server.js';

let server: TestServer;
afterEach(() => server.close());

const LABELS = ['Allow', 'Always allow', '9'];
const SESSION = '/v0/city/alpha/session/login';

async function respond(answer: string, labels = LABELS) {
  const choices = labels.map((label, i) => ({ id: `choice-${i + 1}`, label }));
  const question = { request_id: 'q1', kind: 'approval', ...(choices.length === 0 ? {} : { choices }) };
  server = await testServer({
    [`${SESSION}/pending`]: (_request, response) => json(response, { supported: true, pending: question, items: [question] }),
    [`${SESSION}/respond`]: (_request, response) => json(response, { status: 'accepted', id: 'login' }),
  });
  const io = fakeIo();
  const code = await runCli(['session', 'respond', 'login', answer, '--city', 'alpha', '--api', server.url], io);
  const sent = server.requests.find(({ line }) => line.startsWith('POST'))?.body;
  return { code, said: io.stderr, action: sent === undefined ? undefined : (JSON.parse(sent) as { action: string }).action };
}

it('answers with the choice of a number, and says which there are where it has none', async () => {
  expect(await respond('2')).toMatchObject({ code: 0, action: 'choice-2' });
  await server.close();
  expect(await respond('7')).toEqual({
    code: 1,
    said: 'svc session respond: login does not offer 7: it offers 1 Allow, 2 Always allow, 3 9\n',
    action: undefined,
  });
});

it.each([
  ['9', LABELS],
  ['7', []],
])('sends %s where it is a word of its own, or anything does', async (answer, labels) => {
  expect(await respond(answer, labels)).toMatchObject({ code: 0, action: answer });
});
