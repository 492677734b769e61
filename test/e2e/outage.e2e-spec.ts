import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { startStack, type Stack } from '../support/app.js';
import { svc } from '../support/cli.js';
import { DatabaseProxy } from '../support/database-proxy.js';
import { api } from '../support/http.js';
import { eventually } from '../support/sse.js';

let stack: Stack;
let proxy: DatabaseProxy;
let replica: Awaited<ReturnType<Stack['add']>>;

beforeAll(async () => {
  stack = await startStack({ apis: 1, workers: 0 });
  proxy = await DatabaseProxy.start(stack.databaseUrl);
  replica = await stack.add('api', { databaseUrl: proxy.url });
});
afterAll(async () => {
  await replica?.stop();
  await proxy?.down();
  await stack?.stop();
});

const told = async (...args: string[]) => svc(args, { env: { SVC_API_URL: replica.url } });
const health = async () => (await api(replica.url).get('/health')) as { status: number; body: Record<string, unknown> };

// Guard: counts that nobody has made.
it('is told while the database is down: no zeros, the reason, and what fails; afterwards all is as before', async () => {
  await eventually(async () => (await health()).body.cities_total === 0);
  expect((await told('health')).stdout).toMatch(/^cities: +0 of 0 running$/m);
  // The queue, too, begins with the database.
  await eventually(async () => (await fetch(`${replica.url}/ready`)).status === 200);

  await proxy.down();
  await eventually(async () => (await health()).body.cities_total !== 0);
  expect(await health()).toMatchObject({
    status: 200,
    body: { status: 'ok', cities_total: -1, cities_running: -1, startup: { ready: false, phase: 'waiting_for_database' } },
  });
  expect(await told('health')).toMatchObject({
    code: 0,
    stdout: expect.stringMatching(/^cities: +unknown: the database does not answer$/m),
  });
  await eventually(async () => (await api(replica.url).get('/ready')).status === 503);
  expect((await api(replica.url).get('/ready')).body).toMatchObject({
    detail: expect.stringMatching(/^unavailable: not ready: .*database/),
  });
  expect(await told('city', 'list')).toMatchObject({
    code: 5,
    stdout: '',
    stderr: expect.stringMatching(/^svc city list: unavailable: the database is .*not reachable.*try again$/m),
  });

  await proxy.up();
  await eventually(async () => (await health()).body.cities_total === 0);
  expect((await told('health')).stdout).toMatch(/^cities: +0 of 0 running$/m);
  await eventually(async () => (await told('city', 'list')).code === 0);
});
