import { afterEach, expect, it } from '@jest/globals';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { runCli } from './cli.js';
import { fakeIo } from './testing/io.js';
import { json, testServer, type Handler, type TestServer } from './testing/server.js';

let server: TestServer;
afterEach(() => server.close());

const refused =
  (code: string, detail: string): Handler =>
  (_request, response) => {
    response.writeHead(code.endsWith('not-found') ? 404 : 400, { 'content-type': 'application/problem+json' });
    response.end(JSON.stringify({ type: 'x', title: 'x', status: 404, code, detail, instance: '/' }));
  };
const listed =
  (...items: readonly object[]): Handler =>
  (_request, response) =>
    json(response, { items, total: items.length });

async function said(args: readonly string[], routes: Readonly<Record<string, Handler>>): Promise<string> {
  server = await testServer(Object.fromEntries(Object.entries(routes).map(([path, handler]) => [`/v0/city/alpha/${path}`, handler])));
  const io = fakeIo();
  await runCli([...args, '--api', server.url, '--city', 'alpha'], io);
  return io.stderr.trimEnd().replace(/^svc [a-z]+ [a-z]+: /, '');
}

const agents = listed(
  { name: 'mayor' },
  { name: 'ui' },
  { name: 'coder-1', pool: 'coder' },
  { name: 'core.worker-1', pool: 'core.worker' },
);

it.each<[string, string, string]>([
  ['mayr', 'agent mayr not found', '; did you mean mayor?'],
  ['Mayor', 'agent Mayor not found', '; did you mean mayor?'],
  ['worker', 'agent worker not found', '; did you mean core.worker?'],
  ['nobody', 'agent nobody not found', '; see `svc agent list`'],
  // Another number is another member, and a short word of which half is other letters another word.
  ['coder-9', 'agent coder-9 not found', '; the pool coder has none of that name: see `svc agent list`'],
  ['worker-9', 'agent worker-9 not found', '; the pool core.worker has none of that name: see `svc agent list`'],
  ['qa', 'agent qa not found', '; see `svc agent list`'],
  // What is there was not what was missing.
  ['mayor', 'agent mayor not found', '; see `svc agent list`'],
])('says which agent was meant by %s', async (name, detail, more) => {
  const told = await said(['agent', 'show', name], { [`agent/${name}`]: refused('agent-not-found', `not_found: ${detail}`), agents });
  expect(told).toBe(`not_found: ${detail}${more}`);
});

it('says it of sessions, and which sessions an agent has whose name is none of them', async () => {
  const missing = (name: string): Handler => refused('session-not-found', `not_found: session ${name} not found`);
  const routes = { 'session/logn': missing('logn'), 'session/mayor': missing('mayor'), sessions: listed({ id: 'al-1', title: '' }) };
  expect(await said(['session', 'show', 'mayor'], routes)).toBe('not_found: session mayor not found; of the agent mayor there is al-1');
  await server.close();
  const many = ['al-1', 'al-2', 'al-3', 'al-4'].map((id) => ({ id, title: '' }));
  expect(await said(['session', 'show', 'mayor'], { ...routes, sessions: listed(...many) })).toMatch(/ are al-1, al-2, al-3, …$/);
  await server.close();
  const named = { ...routes, sessions: listed({ id: 'al-2', alias: 'login', title: '' }) };
  expect(await said(['session', 'show', 'logn'], named)).toBe('not_found: session logn not found; did you mean login?');
});

it('offers no session by its id: the nearest is somebody else’s', async () => {
  const sessions: Handler = ({ url = '' }, response) =>
    json(response, {
      items: url.includes('template=')
        ? []
        : [
            { id: 'al-97', title: '' },
            { id: 'al-9', alias: 'al-98', title: '' },
          ],
    });
  const told = await said(['session', 'show', 'al-99'], {
    'session/al-99': refused('session-not-found', 'not_found: session al-99 not found'),
    sessions,
  });
  expect(told).toBe('not_found: session al-99 not found; see `svc session list --all`');
});

it.each<[string, string[], string, string, string, Handler, string]>([
  [
    'a provider',
    ['provider', 'show', 'lopback'],
    'provider/lopback',
    'provider-not-found',
    'providers',
    listed({ name: 'loopback' }),
    'loopback',
  ],
  ['a rig', ['rig', 'show', 'wbe'], 'rig/wbe', 'rig-not-found', 'rigs', listed({ name: 'web', path: '' }), 'web'],
  [
    'an order, and names no list beside it',
    ['order', 'show', 'deplyo'],
    'order/deplyo',
    'order-not-found',
    'orders',
    (_request, response) => json(response, { orders: [{ scoped_name: 'deploy' }] }),
    'deploy',
  ],
])('says it of %s', async (_what, args, path, code, list, handler, meant) => {
  const detail = `not_found: ${args[0]} ${args[2]} not found`;
  expect(await said(args, { [path]: refused(code, detail), [list]: handler })).toBe(`${detail}; did you mean ${meant}?`);
});

it('says to whom a message may have been meant, people too', async () => {
  const unknown = (name: string): Handler => refused('invalid-request', `invalid: unknown recipient "${name}"`);
  const send = (name: string) => said(['mail', 'send', name, '--subject', 'hi'], { mail: unknown(name), agents });
  expect(await send('humn')).toBe('invalid: unknown recipient "humn"; did you mean human?');
  await server.close();
  expect(await send('mayr')).toBe('invalid: unknown recipient "mayr"; did you mean mayor?');
});

it('says nothing more where nobody answers, and nothing that the terminal would carry out', async () => {
  const missing = refused('agent-not-found', 'not_found: agent mayr not found');
  expect(await said(['agent', 'show', 'mayr'], { 'agent/mayr': missing })).toBe('not_found: agent mayr not found; see `svc agent list`');
  await server.close();
  const told = await said(['agent', 'show', 'mayr'], { 'agent/mayr': missing, agents: listed({ name: 'mayr\u001b' }) });
  expect(told).not.toContain('\u001b');
});

it('reads the key once: a pipe has it no second time', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'svc-cli-'));
  const file = join(folder, 'key');
  writeFileSync(file, 'secret');
  try {
    const told = await said(['agent', 'show', 'mayr', '--key-file', file], {
      'agent/mayr': (request, response) => {
        rmSync(file, { force: true });
        return refused('agent-not-found', 'not_found: agent mayr not found')(request, response, 1);
      },
      agents,
    });
    expect(told).toBe('not_found: agent mayr not found; did you mean mayor?');
    expect(server.requests.map(({ headers }) => headers['authorization'])).toEqual(['Bearer secret', 'Bearer secret']);
  } finally {
    rmSync(folder, { recursive: true });
  }
});
