import { readFile, readdir } from 'node:fs/promises';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { startStack, type Stack } from '../support/app.js';
import { adminAt } from '../support/database.js';
import { DEEP } from '../support/depth.js';
import { startGitServer, type GitServer } from '../support/git-server.js';
import { api, type Api } from '../support/http.js';
import { Ledger } from '../support/ledger.js';
import { eventually } from '../support/sse.js';
import { spawnSupervisor } from '../support/supervisor-process.js';

const city = '/v0/city/alpha';
let git: GitServer;
let stack: Stack;
let a: Api;
let ledger: Ledger;

beforeAll(async () => {
  git = await startGitServer();
  await git.repository('shop', { 'README.md': 'shop\n' });
  stack = await startStack({ apis: 1, workers: 1, config: { allowedTargets: [{ host: '127.0.0.1', port: git.port }] } });
  a = api(stack.urls[0]!);
  ledger = await Ledger.open(stack);
  await ledger.succeeded(await a.post('/v0/city', { dir: 'alpha', provider: 'loopback' }), 'request.result.city.create');
  await stack.apps[1]!.stop();
});
afterAll(async () => {
  await ledger?.stream.close();
  await stack?.stop();
  await git?.close();
});

const inCity = (...parts: string[]): string => path.join(stack.citiesRoot, 'alpha', ...parts);
const sql = <R extends object>(text: string, values: unknown[] = []): Promise<R[]> =>
  adminAt<R & Record<string, unknown>>(stack.databaseUrl, text, values);

/** What a dead worker held is free now, as it is some seconds after its end. */
const expire = async (): Promise<void> => {
  await sql("update operations set lease_until = clock_timestamp() where state = 'running'");
  await sql("update config_edits set expires_at = clock_timestamp() - interval '1 second'");
};

/** A worker process that ends by SIGKILL when it comes to `failpoint`. */
const workerKilledAt = async (failpoint: string): Promise<void> => {
  const { databaseUrl, config } = stack;
  const worker = spawnSupervisor({
    SVC_ROLE: 'worker',
    SVC_DATABASE_URL: databaseUrl,
    SVC_DATA_DIR: config.dataDir,
    SVC_PROVIDER_CHECK: 'off',
    SVC_ALLOWED_TARGETS: `127.0.0.1:${git.port}`,
    SVC_TEST_FAILPOINTS: `${failpoint}=kill`,
    ...(config.redisUrl === undefined ? {} : { SVC_REDIS_URL: config.redisUrl }),
  });
  const { signal } = await worker.exited;
  expect({ signal, output: worker.output() }).toMatchObject({ signal: 'SIGKILL' });
};

const terminals = (id: string): Promise<{ type: string }[]> =>
  sql("select type from events where payload ->> 'request_id' = $1 and type like 'request.%'", [id]);

describe('clones whose worker is killed', () => {
  /** The narrowest place: files are there that have no revision yet. */
  const ALWAYS = ['config.after_write'];
  const OTHERS = [
    'rig.before_clone',
    'rig.after_clone',
    'rig.after_place',
    'config.after_commit',
    'rig.after_edit',
    'operation.before_finish',
    'operation.after_finish',
  ];
  const PLACES = DEEP ? [...ALWAYS, ...OTHERS] : ALWAYS;

  it.each(PLACES)('end once and well with another one: %s', async (failpoint) => {
    const name = failpoint.replace(/[._]/g, '-');
    const reply = await a.post(`${city}/rigs`, { name, git_url: git.url('shop'), request_id: `request-${name}` });
    expect(reply.status).toBe(202);
    await workerKilledAt(failpoint);
    await expire();
    const worker = await stack.add('worker', { allowedTargets: [{ host: '127.0.0.1', port: git.port }] });
    expect(await ledger.ended(reply)).toMatchObject({
      type: 'request.result.rig.create',
      payload: { rig: name, default_branch: 'main' },
    });
    await worker.stop();
    expect(await terminals(`request-${name}`)).toHaveLength(1);
    expect((await sql("select from events where type = 'rig.created' and subject = $1", [name])).length).toBe(1);
    expect(await readFile(inCity('rigs', name, 'README.md'), 'utf8')).toBe('shop\n');
    expect(await readdir(inCity('rigs', name, '.git'))).not.toContain('svc-provision');
    expect(await readdir(inCity('.gc/cache/rigs'))).toEqual([]);
    expect((await a.get(`${city}/rig/${name}`)).status).toBe(200);
    expect((await a.get(`${city}/config/diff`)).body.differences).toEqual([]);
  });

  it('are taken back by whoever comes next when no attempt gets through', async () => {
    const reply = await a.post(`${city}/rigs`, {
      name: 'hopeless',
      path: 'new/hopeless',
      git_url: git.url('shop'),
      request_id: 'request-hopeless',
    });
    expect(reply.status).toBe(202);
    await workerKilledAt('rig.after_place');
    expect(await readdir(inCity('new/hopeless'))).toContain('README.md');
    await sql("update operations set attempts = 99 where target = 'rig/hopeless'");
    await expire();
    const limits = { allowedTargets: [{ host: '127.0.0.1', port: git.port }] };
    const worker = await stack.add('worker', limits);
    expect(await ledger.ended(reply)).toMatchObject({ type: 'request.failed', payload: { error_code: 'internal_error' } });
    const again = await a.post(`${city}/rigs`, {
      name: 'hopeless',
      path: 'new/hopeless',
      git_url: git.url('shop'),
      request_id: 'request-hopeless',
    });
    expect({ status: again.status, after: again.headers.get('retry-after') }).toEqual({ status: 503, after: '1' });
    await sql("update rig_provisions set updated_at = now() - interval '1 minute' where leftovers");
    // A worker looks for what is left as soon as it starts, and every five seconds.
    await worker.stop();
    const next = await stack.add('worker', limits);
    await eventually(async () => !(await readdir(inCity())).includes('new'));
    await eventually(async () => (await sql('select from rig_provisions where leftovers')).length === 0);
    const last = await a.post(`${city}/rigs`, {
      name: 'hopeless',
      path: 'new/hopeless',
      git_url: git.url('shop'),
      request_id: 'request-hopeless',
    });
    expect(last.status).toBe(202);
    await eventually(async () => (await a.get(`${city}/rig/hopeless`)).status === 200);
    await eventually(async () => (await terminals('request-hopeless')).length === 2);
    await next.stop();
  });

  it('are put back by a worker that stops, and end when the city does not run any more', async () => {
    const limits = { allowedTargets: [{ host: '127.0.0.1', port: git.port }] };
    const first = await stack.add('worker', limits);
    const before = git.asked.length;
    const reply = await a.post(`${city}/rigs`, { name: 'hanging', git_url: git.url('hang'), request_id: 'request-hanging' });
    await eventually(() => git.asked.length > before);
    await first.stop();
    expect(await sql("select state from operations where target = 'rig/hanging'")).toEqual([{ state: 'accepted' }]);
    await sql("update cities set running = false, desired = 'stopped' where name = 'alpha'");
    const second = await stack.add('worker', limits);
    expect(await ledger.ended(reply)).toMatchObject({ type: 'request.failed', payload: { error_code: 'provision_failed' } });
    await sql("update cities set running = true, desired = 'running' where name = 'alpha'");
    await second.stop();
    expect(await readdir(inCity('rigs'))).not.toContain('hanging');
    expect(await readdir(inCity('.gc/cache/rigs'))).toEqual([]);
  });
});

it('clones that hang leave places to other cities, and the status of their city says what waits', async () => {
  const worker = await stack.add('worker', { allowedTargets: [{ host: '127.0.0.1', port: git.port }] });
  const clones = await Promise.all(
    Array.from({ length: 12 }, (_, n) =>
      a.post(`${city}/rigs`, { name: `hangs-${n}`, git_url: git.url('hang'), request_id: `request-hangs-${n}` }),
    ),
  );
  expect(clones.map(({ status }) => status)).toEqual(clones.map(() => 202));
  const states = (): Promise<{ state: string; n: number }[]> =>
    sql("select state, count(*)::int as n from operations where target like 'rig/hangs-%' group by 1 order by 1");
  await eventually(async () => (await states()).some(({ state, n }) => state === 'running' && n >= 4));
  for (const name of ['beta', 'gamma'])
    await ledger.succeeded(await a.post('/v0/city', { dir: name, provider: 'loopback' }), 'request.result.city.create');
  expect(await states()).toEqual([
    { state: 'accepted', n: 8 },
    { state: 'running', n: 4 },
  ]);
  await sql("update operations set run_after = run_after - interval '10 s' where state = 'accepted'");
  expect((await a.get(`${city}/status`)).body.waiting).toEqual([
    { what: 'operations', count: 8, reason: '4 of the city run: a worker has 8 places, at most 4 of them for one city' },
  ]);
  expect((await a.get('/v0/city/beta/status')).body.waiting).toBeUndefined();
  await worker.stop();
});
