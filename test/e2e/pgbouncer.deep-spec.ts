import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { startStack, type Stack } from '../support/app.js';
import { adminAt } from '../support/database.js';
import { api, type Api } from '../support/http.js';
import { pgbouncerPath, startPgbouncer, type Pgbouncer } from '../support/pgbouncer.js';
import { eventually, openStream } from '../support/sse.js';
import { spawnSupervisor } from '../support/supervisor-process.js';

const CITY = '/v0/city/alpha';
const AT_ONCE = 24;
const CONNECTIONS = 6;

/** Everything but LISTEN goes through a pooler that gives a connection to somebody else after each transaction. */
(pgbouncerPath === undefined ? describe.skip : describe)('behind PgBouncer, by transactions (skipped: there is no pgbouncer)', () => {
  let stack: Stack;
  let pooler: Pgbouncer;
  let pooled: string;
  let a: Api;
  let b: Api;

  beforeAll(async () => {
    pooler = await startPgbouncer({ connections: CONNECTIONS });
    stack = await startStack({ apis: 0, workers: 0 });
    pooled = await pooler.through(stack.databaseUrl, stack.config);
    const config = { databaseUrl: pooled, databaseListenUrl: stack.databaseUrl };
    for (const role of ['api', 'api', 'worker'] as const) await stack.add(role, config);
    [a, b] = stack.urls.map((url) => api(url)) as [Api, Api];
    const feed = await openStream(`${stack.urls[1]}/v0/events/stream`);
    const { body } = await a.post('/v0/city', { dir: 'alpha', provider: 'loopback' });
    const end = await feed.until((f) => f.data?.payload?.request_id === body.request_id);
    expect(end.data.type).toBe('request.result.city.create');
    await feed.close();
  });
  afterAll(async () => {
    await stack?.stop();
    await pooler?.stop();
  });

  it('works for many at once over few connections, with hints in time', async () => {
    const stream = await openStream(`${stack.urls[1]}${CITY}/events/stream`);
    const work = Array.from({ length: AT_ONCE }, async (_, i) => {
      const at = i % 2 === 0 ? a : b;
      const made = await at.post(`${CITY}/beads`, { title: `bead ${i}` });
      expect(made.status).toBe(201);
      const id = made.body.id as string;
      for (const other of [a, b]) expect((await other.get(`${CITY}/bead/${id}`)).body.title).toBe(`bead ${i}`);
      expect((await at.patch(`${CITY}/bead/${id}`, { title: `changed ${i}` })).status).toBe(200);
      expect((await at.post(`${CITY}/events`, { type: 'test.written', actor: 'writer', payload: { i } })).status).toBe(201);
      for (const path of ['beads?limit=5', 'events?type=test.written', 'status', 'sessions', 'config'])
        expect([path, (await at.get(`${CITY}/${path}`)).status]).toEqual([path, 200]);
    });
    await Promise.all(work);
    await stream.untilAll((frames) => frames.filter((f) => f.data?.type === 'test.written').length === AT_ONCE);
    await stream.close();
    expect((await fetch(`${stack.urls[0]}/ready`)).status).toBe(200);
    // However many the processes have, the server sees these.
    const [{ n }] = (await adminAt<{ n: string }>(
      stack.databaseUrl,
      "select count(*) as n from pg_stat_activity where datname = current_database() and application_name in ('svc-api', 'svc-worker')",
    )) as [{ n: string }];
    expect(Number(n)).toBeGreaterThan(0);
    expect(Number(n)).toBeLessThanOrEqual(CONNECTIONS);
  });

  it('runs a session from its first message to its end', async () => {
    expect((await a.post(`${CITY}/session/mayor/messages`, { message: 'hello' })).status).toBe(202);
    await eventually(async () => (await b.get(`${CITY}/session/mayor/transcript`)).text.includes('echo: hello'));
  });

  it('has its migrate step and its processes start, as commands', async () => {
    const env = { SVC_DATABASE_URL: pooled, SVC_DATABASE_LISTEN_URL: stack.databaseUrl };
    const migrate = ['../../scripts/typescript.mjs', '../../src/entry/migrate.ts'].map((at) => fileURLToPath(new URL(at, import.meta.url)));
    const { stdout } = await promisify(execFile)(process.execPath, ['--import', ...migrate], { env: { PATH: process.env.PATH, ...env } });
    expect(stdout).toBe('the database is up to date\n');
    const started = spawnSupervisor({ ...env, SVC_ROLE: 'api' });
    expect((await fetch(`${await started.ready()}/ready`)).status).toBe(200);
    started.child.kill('SIGTERM');
    expect((await started.exited).code).toBe(0);
  });

  it('has a lock that is waited for too long end the same', async () => {
    const limits = await adminAt<{ name: string; setting: string }>(
      pooled,
      `select name, setting from pg_settings where name in ('lock_timeout', 'statement_timeout')`,
    );
    expect(Object.fromEntries(limits.map(({ name, setting }) => [name, setting]))).toEqual({
      lock_timeout: '2000',
      statement_timeout: '30000',
    });
  });
});
