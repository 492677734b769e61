import { writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from '@jest/globals';
import { startStack, type Stack } from '../support/app.js';
import { hasBubblewrap } from '../support/bubblewrap.js';
import { api, type Api } from '../support/http.js';
import { Ledger } from '../support/ledger.js';
import { COMMAND, Served } from '../support/served.js';
import { eventually } from '../support/sse.js';
import { serveSoon } from '../support/stack-timings.js';
import { USER_NUMBERS } from '../support/user-numbers.js';

/** What the process of a service reaches of its host, by whatever walls there are. */
const LOOK = (data: string, pid: number): string =>
  [
    `cat ${data}/admin.key || echo no key`,
    'cat ../quay/secret || echo no neighbour',
    `kill -0 ${pid} || echo no signal`,
    'echo x >.gc/evil || echo no state of the city',
    'echo x >"$SVC_SERVICE_STATE_ROOT/data/own" && echo own state',
    'ls .gc/services/other/secrets || echo no state of others',
    'echo looked',
    'exec "$SVC_NODE" board.mjs',
  ].join('; ');

describe.each([
  ['bubblewrap', hasBubblewrap, ['no state of others']],
  ['users', process.getuid?.() === 0, []],
] as const)('the process of a service behind walls made by %s', (isolation, isPossible, more) => {
  (isPossible ? it : it.skip)('reaches what is its own, and is reached', async () => {
    expect(await lookAround(isolation)).toEqual(['no key', 'no neighbour', 'no signal', 'no state of the city', 'own state', ...more]);
  });
});

/** A service that lets go of its socket and puts a link to another's there. */
const LINKING = `
import { renameSync, symlinkSync } from 'node:fs';
import { createServer } from 'node:http';
const at = process.env.SVC_SERVICE_SOCKET;
createServer((request, response) => {
  if (request.url.startsWith('/link')) {
    renameSync(at, at + '.own');
    symlinkSync(new URL(request.url, 'http://service').searchParams.get('to'), at);
  }
  response.end('own');
}).listen(at);
`;

describe('a service that puts a link in the place of its socket', () => {
  // Guard: no link of a service has a worker connect to a socket of somebody else.
  it('has nobody reach what listens where the link leads', async () => {
    await begin('none');
    const asked: string[] = [];
    const daemon = createServer((request, response) => response.end(`the daemon ${asked.push(request.url!)}`));
    const at = join(stack!.config.dataDir, 'daemon.sock');
    await new Promise<void>((resolve) => daemon.listen(at, resolve));
    const command = 'command = ["/bin/sh", "-c", "exec \\"$SVC_NODE\\" linking.mjs"]';
    const pier = await Served.make(stack!, ledger!, 'pier', '');
    await pier.write('linking.mjs', LINKING);
    await pier.say(`[[service]]\nname = "board"\nkind = "proxy_process"\nprocess = { ${command} }\n`);
    await pier.until('board');
    const board = '/v0/city/pier/svc/board';
    expect(await a.post(`${board}/link?to=${encodeURIComponent(at)}`)).toMatchObject({ status: 200, text: 'own' });
    expect([(await a.post(`${board}/x`)).status, (await a.get(`${board}/x`)).status]).toEqual([502, 502]);
    expect(asked).toEqual([]);
    await new Promise((resolve) => daemon.close(resolve));
  });
});

let stack: Stack | undefined;
let ledger: Ledger | undefined;
let a: Api;
afterAll(async () => {
  await ledger?.stream.close();
  await stack?.stop();
});

async function begin(isolation: 'none' | 'bubblewrap' | 'users'): Promise<void> {
  await ledger?.stream.close();
  await stack?.stop();
  stack = await startStack({ apis: 1, workers: 0, config: { isolation: 'none' } });
  const { sessions, cities } = USER_NUMBERS;
  const numbers = [
    ['sessions', sessions],
    ['cities', cities],
  ] as const;
  const text = numbers.map(([name, { first, count }]) => `${name} = { first = ${first}, count = ${count} }\n`).join('');
  await writeFile(join(stack.config.dataDir, 'host.toml'), `[users]\n${text}`);
  await stack.add('worker', { isolation });
  serveSoon(stack);
  a = api(stack.urls[0]!);
  ledger = await Ledger.open(stack);
}

async function lookAround(isolation: 'bubblewrap' | 'users'): Promise<string[]> {
  await begin(isolation);
  const [running, known] = [stack!, ledger!];
  await writeFile(join(running.config.dataDir, 'admin.key'), 'the key', { mode: 0o600 });
  const quay = await Served.make(running, known, 'quay', '');
  await quay.write('secret', 'of the neighbour');
  const script = JSON.stringify(LOOK(running.config.dataDir, process.pid));
  const port = await Served.make(
    running,
    known,
    'port',
    `[[service]]\nname = "board"\nkind = "proxy_process"\nprocess = { command = ["/bin/sh", "-c", ${script}] }\n[[service]]\nname = "other"\nkind = "proxy_process"\nprocess = { ${COMMAND} }\n`,
  );
  await port.until('other');
  // It has looked before the other had its state.
  await a.post('/v0/city/port/service/board/restart');
  await port.until('board', ({ state, attempts }) => state === 'ready' && attempts > 1);
  expect((await a.get('/v0/city/port/svc/board/x')).status).toBe(200);
  const lines = await eventually(async () => {
    const { body } = await a.get('/v0/city/port/service/board/logs?tail=1000');
    const last = body.items.filter(({ attempt }: any) => attempt === body.items.at(-1).attempt).map(({ text: line }: any) => line);
    return last.includes('looked') && last.slice(0, last.indexOf('looked'));
  });
  return lines.filter((line: string) => line !== '' && !line.includes(': '));
}
