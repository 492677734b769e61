import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { startStack, testRedisUrl, type Stack } from '../support/app.js';
import { svc } from '../support/cli.js';
import { adminAt } from '../support/database.js';
import { HoldingGate } from '../support/gate.js';
import { api, failures, type Api } from '../support/http.js';
import { Ledger } from '../support/ledger.js';
import { eventually } from '../support/sse.js';
import { keepCycles } from '../support/stack-timings.js';
import { spawnSupervisor, type SupervisorProcess } from '../support/supervisor-process.js';

/** Maintenance over HTTP: two replicas, and workers of which some die. */
let stack: Stack;
let a: Api;
let b: Api;
let ledger: Ledger;
const workers: SupervisorProcess[] = [];
const CITY = '/v0/city/alpha';
const STATUS = `${CITY}/maintenance/status`;
const TRIGGER = `${CITY}/maintenance/dolt-gc`;

async function ok(...args: string[]): Promise<string> {
  const { code, stdout, stderr } = await svc(args, { env: { SVC_API_URL: stack.urls[0]!, SVC_CITY: 'alpha' } });
  expect([args, code, code === 0 ? '' : stderr]).toEqual([args, 0, '']);
  return stdout.trim();
}
const file = (): string => join(stack.citiesRoot, 'alpha/city.toml');
async function enable(): Promise<void> {
  const text = await readFile(file(), 'utf8');
  await writeFile(file(), `${text}\n[maintenance.dolt]\nenabled = true\ninterval = "1h"\nalert_to = "mayor"\n`);
  expect(await a.post(`${CITY}/config/reload`)).toMatchObject({ status: 200 });
}
/** No cycle is open; how many have ended. */
const idle = (at: Api = b): Promise<any> =>
  eventually(async () => ((s) => !s.in_flight && s.history.length > 0 && s)((await at.get(STATUS)).body));
const told = async (): Promise<any[]> =>
  (await a.get(`${CITY}/events?limit=500`)).body.items.filter(({ type }: any) => type.startsWith('gc.store.'));
/** Holds cycles in the workers of this process before they end. */
function hold(): HoldingGate {
  const held = new HoldingGate();
  for (const failpoints of stack.failpoints) failpoints.arm('maintenance.before_end', held.action());
  return held;
}

beforeAll(async () => {
  stack = await startStack({ apis: 2, workers: 1 });
  keepCycles(stack);
  [a, b] = stack.urls.map((url) => api(url)) as [Api, Api];
  ledger = await Ledger.open(stack);
  await ledger.succeeded(await a.post('/v0/city', { dir: 'alpha', provider: 'loopback' }), 'request.result.city.create');
});
afterAll(async () => {
  for (const { child } of workers) child.kill('SIGKILL');
  await Promise.all(workers.map(({ exited }) => exited));
  await ledger?.stream.close();
  await stack?.stop();
});

describe('maintenance', () => {
  it('is off unless a city wants it', async () => {
    const off = {
      status: 503,
      body: { code: 'service-unavailable', detail: 'maintenance_disabled: [maintenance.dolt] enabled=false in city.toml' },
    };
    const before = await failures(a);
    expect(await a.get(STATUS)).toMatchObject(off);
    expect(await failures(a)).toBe(before);
    expect(await b.post(TRIGGER)).toMatchObject(off);
    expect((await a.get(`${CITY}/status`)).body.store_health).toBeUndefined();
    // The tables are everybody's.
    await eventually(async () => (await adminAt(stack.databaseUrl, 'select from store_looks where looked_at is not null')).length === 1);
  });

  it('has its first cycle at once when a city begins to want it, and then its status', async () => {
    await enable();
    const status = await idle();
    expect(status).toMatchObject({ enabled: true, interval_seconds: 3_600, in_flight: false, disk: 'ok', last_run: status.history.at(-1) });
    expect(status.history).toEqual([
      expect.objectContaining({ cause: 'schedule', stage: 'done', removed: { runs: 0, sessions: 0, folders: 0 } }),
    ]);
    // The tables have the dead rows of files before this one: there may be a warning of them.
    const warned = status.last_run.warnings.length > 0;
    expect(status.last_run.warnings.filter((warning: string) => !/rows are dead/.test(warning))).toEqual([]);
    expect(Date.parse(status.next_scheduled)).toBeGreaterThan(Date.parse(status.last_run.finished_at));
    expect((await told())[0]).toMatchObject({
      type: 'gc.store.maintenance.done',
      actor: 'supervisor',
      subject: join(stack.citiesRoot, 'alpha'),
    });
    const { store_health: health } = (await b.get(`${CITY}/status`)).body;
    expect(health).toMatchObject({ last_gc_status: 'done', warning: warned, live_rows: expect.any(Number) });
    expect(health.live_rows).toBeGreaterThan(0);
    expect((await ok('city', 'status', 'alpha')).includes('maintenance')).toBe(warned);
  });

  // Guard: a city has one cycle at a time.
  it('has one cycle at a time, and says so while it goes on', async () => {
    const held = hold();
    try {
      const asked = await Promise.all([a, b].map((at) => at.post(TRIGGER)));
      expect(asked.map(({ status }) => status).sort()).toEqual([202, 409]);
      const { started_at: since } = asked.find(({ status }) => status === 202)!.body;
      const busy = `maintenance-in-progress: {"type":"maintenance-in-progress","started_at":"${since}"}`;
      expect(asked.find(({ status }) => status === 409)!.body).toMatchObject({ code: 'operation-in-progress', detail: busy });
      for (const at of [a, b]) expect((await at.get(STATUS)).body).toMatchObject({ in_flight: true, in_flight_start: since });
      const refused = await svc(['maintenance', 'run'], { env: { SVC_API_URL: stack.urls[1]!, SVC_CITY: 'alpha' } });
      expect(refused.stderr).toContain(`a cycle is in flight since ${since}; see \`svc maintenance status\``);
      await eventually(() => held.held === 1);
      held.release();
      expect((await idle()).last_run).toMatchObject({ started_at: since, cause: 'request', stage: 'done' });
    } finally {
      held.release();
      for (const failpoints of stack.failpoints) failpoints.disarm();
    }
  });

  it('is waited for by who wants to', async () => {
    const answer = await b.post(`${TRIGGER}?wait=true`);
    const id = answer.headers.get('x-svc-request-id')!;
    expect(answer).toMatchObject({ status: 202, body: { accepted: true, run: { stage: 'done', started_at: answer.body.started_at } } });
    const { items: records } = (await a.get(`/v0/audit?request_id=${id}`)).body;
    expect(records).toMatchObject([{ operation: 'trigger-maintenance-dolt-gc', city: 'alpha', status: 202 }]);
    expect((await a.get(`${STATUS}?history=1`)).body.history).toEqual([answer.body.run]);
    expect(JSON.parse(await ok('maintenance', 'run', '--wait', '--json'))).toMatchObject({ accepted: true, run: { stage: 'done' } });
    const listed = (await ok('maintenance', 'history', '--json')).split('\n').map((line) => JSON.parse(line));
    expect(listed).toEqual([...(await a.get(STATUS)).body.history].reverse());
    expect(await ok('maintenance', 'history')).toMatch(/^STARTED +TOOK +CAUSE +OUTCOME/);
    expect(await ok('maintenance', 'status')).toMatch(/every +1h00m|enabled +every 1h00m/);
  });

  it('is ended as failed when the worker has died, and can begin again', async () => {
    await stack.apps.at(-1)!.stop();
    const dying = spawnSupervisor({
      SVC_ROLE: 'worker',
      SVC_DATABASE_URL: stack.databaseUrl,
      SVC_CITIES_ROOT: stack.citiesRoot,
      SVC_DATA_DIR: stack.config.dataDir,
      SVC_PROVIDER_CHECK: 'off',
      SVC_RUNNER_ISOLATION: 'none',
      SVC_TEST_FAILPOINTS: 'maintenance.before_end=kill',
      ...(testRedisUrl === undefined ? {} : { SVC_REDIS_URL: testRedisUrl }),
    });
    workers.push(dying);
    await dying.ready();
    const before = (await a.get(`${STATUS}?history=100`)).body.history.length;
    const { started_at: since } = (await a.post(TRIGGER)).body;
    expect(await dying.exited).toMatchObject({ signal: 'SIGKILL' });
    expect((await b.get(STATUS)).body).toMatchObject({ in_flight: true, in_flight_start: since });
    expect(await b.post(TRIGGER)).toMatchObject({ status: 409 });
    // The lease runs out by itself in ten seconds.
    await adminAt(stack.databaseUrl, `update maintenance_cycles set lease_until = now() - interval '1 second' where state = 'running'`);
    await stack.add('worker');
    keepCycles(stack);
    const { history } = await eventually(async () => ((s) => s.history.length > before && s)((await b.get(`${STATUS}?history=100`)).body));
    const failed = history.find(({ started_at }: any) => started_at === since);
    expect(failed).toMatchObject({ err: expect.stringMatching(/^the worker \S+ that carried it out was lost$/) });
    expect((await told()).filter(({ type }) => type === 'gc.store.maintenance.failed')).toMatchObject([
      { payload: { error_msg: failed.err } },
    ]);
    const { items } = (await a.get(`${CITY}/mail?agent=mayor`)).body;
    expect(items).toContainEqual(
      expect.objectContaining({ from: 'supervisor', subject: `[ALERT] Store maintenance failed: ${failed.stage}` }),
    );
    expect((await b.get(`${CITY}/status`)).body.store_health).toMatchObject({ last_gc_status: 'failed' });
    expect(await ok('city', 'status', 'alpha')).toContain('the last cycle has failed: see `svc maintenance status`');
    expect((await a.post(`${TRIGGER}?wait=true`)).body.run).toMatchObject({ stage: 'done' });
  });
});
