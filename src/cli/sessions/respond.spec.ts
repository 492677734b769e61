import { afterEach, expect, it } from '@jest/globals';
import { runCli } from '../cli.js';
import { fakeIo } from '../testing/io.js';
import { json, problem, testServer, type TestServer } from '../testing/server.js';

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
  ['2', LABELS, "choice-2 --request 'q 1'"],
  ['7', [], "7 --request 'q 1'"],
])('says of %s whose answer is lost how it is said again', async (answer, labels, words) => {
  const choices = labels.map((label, i) => ({ id: `choice-${i + 1}`, label }));
  const question = { request_id: 'q 1', kind: 'approval', ...(choices.length === 0 ? {} : { choices }) };
  server = await testServer({
    [`${SESSION}/pending`]: (_request, response, nth) =>
      json(response, nth === 1 ? { supported: true, pending: question } : { supported: true }),
    [`${SESSION}/respond`]: (request, response, nth) =>
      nth === 1 ? request.socket.destroy() : json(response, { status: 'accepted', id: 'login' }),
  });
  const io = fakeIo();
  const run = (args: readonly string[]) => runCli(['session', 'respond', 'login', ...args, '--city', 'alpha', '--api', server.url], io);
  expect(await run([answer])).toBe(5);
  const key = server.requests.find(({ line }) => line.startsWith('POST'))!.headers['idempotency-key'] as string;
  expect(io.stderr).toContain(`; repeat it with \`${words} --idempotency-key ${key}\``);
  expect(await run([words.split(' ')[0]!, '--request', 'q 1', '--idempotency-key', key])).toBe(0);
  const [first, again] = server.requests.filter(({ line }) => line.startsWith('POST'));
  expect([again!.body, again!.headers['idempotency-key']]).toEqual([first!.body, key]);
});

it('says of a number that is repeated under its key once the question is answered that it means nothing any more', async () => {
  server = await testServer({
    [`${SESSION}/pending`]: (_request, response) => json(response, { supported: true }),
    [`${SESSION}/respond`]: (_request, response) => problem(response, 422, 'idempotency-mismatch: another body'),
  });
  const io = fakeIo();
  const args = ['session', 'respond', 'login', '2', '--request', 'q1', '--idempotency-key', 'k'];
  expect(await runCli([...args, '--city', 'alpha', '--api', server.url], io)).toBe(4);
  expect(io.stderr).toBe(
    "svc session respond: idempotency-mismatch: another body; a number means nothing any more: give the choice's id\n",
  );
});

it.each([
  ['9', LABELS],
  ['7', []],
])('sends %s where it is a word of its own, or anything does', async (answer, labels) => {
  expect(await respond(answer, labels)).toMatchObject({ code: 0, action: answer });
});
