import { readFile } from 'node:fs/promises';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { startStack, testRedisUrl, type Stack } from '../support/app.js';
import { adminAt } from '../support/database.js';
import { api, type Api } from '../support/http.js';
import { Ledger } from '../support/ledger.js';
import { COMMAND, Served, upgradeRequest, Wire } from '../support/served.js';
import { eventually, openStream } from '../support/sse.js';
import { spawnSupervisor, type SupervisorProcess } from '../support/supervisor-process.js';

/** Two replicas, and two hosts that are processes of their own, one of which dies while it serves. */
let stack: Stack;
let a: Api;
let b: Api;
let ledger: Ledger;
let city: Served;
const hosts: SupervisorProcess[] = [];
const BOARD = '/v0/city/alpha/svc/board';

async function host(): Promise<void> {
  const started = spawnSupervisor({
    ...{ SVC_ROLE: 'worker', SVC_DATABASE_URL: stack.databaseUrl, SVC_CITIES_ROOT: stack.citiesRoot, SVC_DATA_DIR: stack.config.dataDir },
    ...{ SVC_PROVIDER_CHECK: 'off', SVC_RUNNER_ISOLATION: 'none', SVC_API_URL: stack.urls[0]! },
    ...(testRedisUrl === undefined ? {} : { SVC_REDIS_URL: testRedisUrl }),
  });
  hosts.push(started);
  await started.ready();
}
const serving = async (client: Api): Promise<number | undefined> => {
  const reply = await client.get(`${BOARD}/x`);
  expect([200, 502, 503]).toContain(reply.status);
  return reply.status === 200 ? reply.body.pid : undefined;
};
/** The name of a process ends with its number and when it began. */
const owner = async (): Promise<{ worker: string; host: SupervisorProcess }> => {
  const [row] = await adminAt<{ worker: string }>(stack.databaseUrl, 'select worker from services where worker is not null');
  const pid = Number(row!.worker.split('-').at(-2));
  return { worker: row!.worker, host: hosts.find(({ child }) => child.pid === pid)! };
};
/** What nobody has buried yet has no command line. */
const lives = (pid: number): Promise<boolean> =>
  readFile(`/proc/${pid}/cmdline`, 'utf8').then(
    (line) => line !== '',
    () => false,
  );

beforeAll(async () => {
  stack = await startStack({ workers: 0 });
  [a, b] = stack.urls.map((url) => api(url)) as [Api, Api];
  ledger = await Ledger.open(stack);
  await Promise.all([host(), host()]);
  city = await Served.make(
    stack,
    ledger,
    'alpha',
    `[[service]]\nname = "board"\nkind = "proxy_process"\npublication = { allow_websockets = true }\nprocess = { ${COMMAND} }\n`,
  );
  await city.until('board');
});
afterAll(async () => {
  // What is killed would leave its service behind.
  for (const { child } of hosts) child.kill('SIGTERM');
  await Promise.all(hosts.map(({ exited }) => exited));
  await ledger?.stream.close();
  await stack?.stop();
});

describe('a host that dies while it serves', () => {
  // Guard: what a killed host has left of a service is ended before the service is begun again.
  it('cuts what is open, and another one goes on, with nobody there twice', async () => {
    const log = await openStream(`${stack.urls[1]}/v0/city/alpha/service/board/logs/stream?tail=1000`);
    const streams = await Promise.all(
      stack.urls.map(async (url) => {
        const stream = await Wire.say(url, `GET ${BOARD}/sse HTTP/1.1\r\nHost: localhost\r\n\r\n`);
        const socket = await Wire.say(url, upgradeRequest(`${BOARD}/ws`));
        await stream.until((text) => /data: \d+/.test(text));
        await socket.until((text) => text.startsWith('HTTP/1.1 101'));
        return [stream, socket];
      }),
    );
    const [before] = await Promise.all([serving(a), serving(b)]);
    const { worker, host: killed } = await owner();
    killed.child.kill('SIGKILL');
    await killed.exited;
    for (const wire of streams.flat()) await wire.until((_text, { ended }) => ended);
    // Until its lease has run out nobody takes it; who asks is told to come again.
    expect(await serving(a)).toBeUndefined();
    await adminAt(stack.databaseUrl, `update services set lease_until = now() - interval '1 s' where worker = '${worker}'`);
    const after = await eventually(() => serving(b));
    expect(after).not.toBe(before);
    expect(await serving(a)).toBe(after);
    expect(await lives(before!)).toBe(false);
    await log.until(({ data }) => data?.text === `begins as ${after}`);
    const seqs = log.frames.filter(({ event }) => event === 'line').map(({ data }) => data.seq);
    expect(seqs).toEqual(seqs.map((_, n) => n + 1));
    await log.close();
    const { items } = (await a.get('/v0/city/alpha/events?limit=500&type=service.state_changed')).body;
    const told = items.map(({ payload: { state, reason } }: any) => `${state} ${reason ?? ''}`).reverse();
    expect(told.slice(0, 4)).toEqual(['starting ', 'ready ', 'starting owner_lost', 'ready ']);
  });

  it('in an orderly way hands it over at once', async () => {
    await host();
    const before = await serving(a);
    const { host: stopped } = await owner();
    stopped.child.kill('SIGTERM');
    await stopped.exited;
    const after = await eventually(() => serving(b));
    expect(after).not.toBe(before);
    expect(await lives(before!)).toBe(false);
  });
});
