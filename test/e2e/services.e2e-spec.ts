import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { readdir, rm } from 'node:fs/promises';
import { startStack, type Stack } from '../support/app.js';
import { startSvc, svc } from '../support/cli.js';
import { api, type Api } from '../support/http.js';
import { Ledger } from '../support/ledger.js';
import { COMMAND, Served } from '../support/served.js';
import { eventually, openStream } from '../support/sse.js';
import { serveSoon } from '../support/stack-timings.js';

/** What the files of a city say of services, and what becomes of that. */
let stack: Stack;
let a: Api;
let b: Api;
let ledger: Ledger;
let city: Served;
const CITY = '/v0/city/alpha';

const TABLES = `
[[service]]
name = "alive"
workflow = { contract = "gc.healthz.v1" }
[[service]]
name = "later"
workflow = { contract = "gc.later.v2" }
[[service]]
name = "board"
kind = "proxy_process"
publication = { visibility = "tenant", allow_websockets = true }
process = { ${COMMAND}, health_path = "/health" }
[[service]]
name = "broken"
kind = "proxy_process"
process = { command = ["/bin/sh", "-c", "echo cannot; exit 3"] }
`;

async function events(service: string): Promise<any[]> {
  const { items } = (await a.get(`${CITY}/events?limit=500&type=service.state_changed`)).body;
  return items.filter(({ subject }: any) => subject === service).reverse();
}
const shown = ({ payload: { state, reason } }: any): string => (reason === undefined ? state : `${state} ${reason}`);

beforeAll(async () => {
  stack = await startStack();
  serveSoon(stack);
  a = api(stack.urls[0]!);
  b = api(stack.urls[1]!);
  ledger = await Ledger.open(stack);
  city = await Served.make(stack, ledger, 'alpha', TABLES);
});
afterAll(async () => {
  await ledger?.stream.close();
  await stack?.stop();
});

describe('services of a city', () => {
  it('are there as its files say, and as they are', async () => {
    await city.until('board');
    await city.until('broken', ({ reason }) => reason === 'process_exited');
    const { body, headers } = await b.get(`${CITY}/services`);
    expect(headers.get('x-svc-index')).toMatch(/^\d+$/);
    expect(body).toMatchObject({ total: 4 });
    expect(body.items).toMatchObject([
      { service_name: 'alive', kind: 'workflow', state: 'ready', local_state: 'ready', workflow_contract: 'gc.healthz.v1' },
      {
        ...{ service_name: 'board', kind: 'proxy_process', mount_path: '/v0/city/alpha/svc/board', state_root: '.gc/services/board' },
        ...{ publish_mode: 'private', visibility: 'tenant', hostname: 'board', allow_websockets: true, state: 'ready' },
        ...{ publication_state: 'blocked', reason: 'publication_unavailable', attempts: expect.any(Number) },
      },
      { service_name: 'broken', publication_state: 'private', detail: 'exit status 3' },
      { service_name: 'later', state: 'degraded', local_state: 'config_error', reason: 'unsupported_contract' },
    ]);
    expect(await b.get(`${CITY}/service/none`)).toMatchObject({
      status: 404,
      body: { code: 'service-not-found', detail: 'not_found: service none not found' },
    });
    // A start may need a second try; a process that was there has not ended.
    const told = (await events('board')).map(shown);
    const tries = told.filter((state) => state.startsWith('starting')).length;
    const again = ['degraded start_failed', 'starting start_failed'];
    expect(told).toEqual(['starting', ...Array.from({ length: tries - 1 }, () => again).flat(), 'ready']);
    expect(body.items[1].attempts).toBe(tries);
  });

  it('of the built-in contract say that they are there, on any replica', async () => {
    for (const path of ['', '/', '/healthz'])
      expect(await b.get(`${CITY}/svc/alive${path}`)).toMatchObject({
        status: 200,
        body: { ok: true, city_name: 'alpha', service: 'alive', contract: 'gc.healthz.v1' },
      });
    const put = await b.send('PUT', `${CITY}/svc/alive/healthz`, 'x');
    expect([put.status, put.headers.get('allow')]).toEqual([405, 'GET, HEAD']);
    expect((await b.send('HEAD', `${CITY}/svc/alive/`)).status).toBe(200);
    expect(await b.get(`${CITY}/svc/alive/other`)).toMatchObject({ status: 404, body: { detail: 'not_found: service route not found' } });
    expect(await b.get(`${CITY}/svc/later`)).toMatchObject({
      status: 503,
      body: { detail: 'unavailable: service unavailable: unsupported_contract' },
    });
  });

  it('have what the service says of them in their environment, folders of their own, and none of its credentials', async () => {
    const { env, cwd } = (await b.get(`${CITY}/svc/board/env`)).body;
    expect(env).toMatchObject({
      SVC_SERVICE_NAME: 'board',
      SVC_SERVICE_STATE_ROOT: city.file('.gc/services/board'),
      SVC_SERVICE_SECRETS_DIR: city.file('.gc/services/board/secrets'),
      SVC_SERVICE_URL_PREFIX: '/v0/city/alpha/svc/board',
      SVC_SERVICE_VISIBILITY: 'tenant',
      SVC_CITY: 'alpha',
    });
    expect(cwd).toBe(city.file(''));
    expect(Object.keys(env).filter((name) => /TOKEN|DATABASE|REDIS|_KEY|SECRET(?!S_DIR)/.test(name))).toEqual([]);
    expect((await readdir(city.file('.gc/services/board'))).sort()).toEqual(['data', 'logs', 'run', 'secrets']);
  });

  it('that end are begun anew, sooner first and later less often, and tell how they ended', async () => {
    const { attempts } = await city.status('broken');
    const later = await city.until('broken', (status) => status.attempts > attempts + 2);
    expect(later.reason).toMatch(/process_exited/);
    expect(await b.get(`${CITY}/svc/broken`)).toMatchObject({ status: 503, headers: expect.anything() });
    const before = (await b.get(`${CITY}/svc/board/x`)).body.pid;
    // It ends before it has answered.
    const ended = await b.get(`${CITY}/svc/board/exit?code=9`);
    expect([ended.status, ended.headers.get('retry-after')]).toEqual([502, '1']);
    await eventually(async () => (await events('board')).map(shown).includes('degraded process_exited'));
    await city.until('board');
    expect((await b.get(`${CITY}/svc/board/x`)).body.pid).not.toBe(before);
    expect((await events('board')).find((one) => shown(one) === 'degraded process_exited').payload.detail).toBe('exit status 9');
  });

  it('are counted by the method in which they are asked, whatever came first', async () => {
    await city.until('board');
    expect([(await b.get(`${CITY}/svc/board/x`)).status, (await b.post(`${CITY}/svc/board/x`)).status]).toEqual([200, 200]);
    const counted = /svc_service_request_duration_seconds_count\{method="POST",route="\/v0\/city\/:cityName\/svc\/\*",status="200"/;
    await eventually(async () => counted.test((await b.get('/metrics')).text));
    // How the service is has nothing to do with what a city's own program answers, and how late.
    expect((await b.get('/metrics')).text).not.toMatch(/svc_http_request_duration_seconds_count\{[^}]*\/svc\//);
  });

  it('begin anew when they are told to, at either replica, and those who ask meanwhile are told so', async () => {
    const before = (await a.get(`${CITY}/svc/board/x`)).body.pid;
    const asking = eventually(async () => {
      const reply = await b.get(`${CITY}/svc/board/x`);
      // Never anything but the old one, the new one, or a moment's patience.
      expect([200, 502, 503]).toContain(reply.status);
      return reply.status === 200 && reply.body.pid !== before;
    });
    expect(await b.post(`${CITY}/service/board/restart`)).toMatchObject({
      status: 200,
      body: { status: 'ok', action: 'restart', service: 'board' },
    });
    await asking;
    const told = (await events('board')).filter((one) => shown(one) === 'stopping restart_requested');
    expect(told).toMatchObject([{ actor: 'api' }]);
    expect((await b.post(`${CITY}/service/none/restart`)).status).toBe(404);
    expect((await b.post(`${CITY}/service/alive/restart`)).status).toBe(200);
  });

  it('that are ill are reached no more until they are well', async () => {
    serveSoon(stack, { healthMs: 30, restartAfter: 1_000_000 });
    expect((await a.post(`${CITY}/service/board/restart`)).status).toBe(200);
    await city.until('board');
    await city.write('sick', '');
    await city.until('board', ({ state, reason }) => state === 'degraded' && reason === 'health_failed');
    expect(await b.get(`${CITY}/svc/board/x`)).toMatchObject({
      status: 503,
      body: { detail: 'unavailable: service unavailable: health_failed' },
    });
    await rm(city.file('sick'));
    await city.until('board');
    expect((await b.get(`${CITY}/svc/board/x`)).status).toBe(200);
    serveSoon(stack);
  });

  it('write lines that any replica shows and follows, without secrets', async () => {
    const { items, head } = await eventually(async () => {
      const { body } = await b.get(`${CITY}/service/board/logs?tail=1000`);
      return body.items.some(({ text }: any) => text === 'listens') && body;
    });
    expect(items.map(({ seq }: any) => seq)).toEqual(items.map((_: unknown, n: number) => n + 1));
    expect(head).toBe(items.length);
    expect(items[0].text).toMatch(/^begins as \d+$/);
    expect(JSON.stringify(items)).not.toContain('abcdefghijkl');
    expect((await b.get(`${CITY}/service/board/logs?tail=2&before=3`)).body).toMatchObject({ items: [{ seq: 1 }, { seq: 2 }] });
    const stream = await openStream(`${stack.urls[1]}${CITY}/service/board/logs/stream`, { headers: { 'last-event-id': '1' } });
    await a.post(`${CITY}/service/board/restart`);
    await stream.until(({ data }) => data?.text === 'listens' && data.seq > head);
    const seqs = stream.frames.filter(({ event }) => event === 'line').map(({ data }) => data.seq);
    expect(seqs).toEqual(seqs.map((_, n) => n + 2));
    await stream.close();
    const ahead = await fetch(`${stack.urls[0]}${CITY}/service/board/logs/stream`, { headers: { 'last-event-id': '999999' } });
    expect([ahead.status, ((await ahead.json()) as any).code]).toEqual([410, 'cursor-ahead']);
  });

  it('are shown, restarted and followed by the client', async () => {
    const run = (...args: string[]) => svc(['service', ...args], { env: { SVC_API_URL: stack.urls[0]!, SVC_CITY: 'alpha' } });
    expect((await run('restart', 'board', '--wait')).stdout).toBe('board is ready\n');
    expect((await run('list')).stdout).toMatch(/^NAME +KIND +STATE/);
    expect((await run('show', 'board')).stdout).toContain('/v0/city/alpha/svc/board');
    expect((await run('open', 'board')).stdout).toBe(`${stack.urls[0]}/v0/city/alpha/svc/board\n`);
    expect((await run('logs', 'broken', '--tail', '1')).stdout).toBe('cannot\n');
    const gone = await run('show', 'none');
    expect([gone.code, gone.stderr]).toEqual([3, expect.stringContaining('svc service list')]);
    const waited = await run('restart', 'broken', '--wait');
    expect([waited.code, waited.stderr]).toEqual([1, expect.stringContaining('process_exited')]);
  });

  it('stay as they are when other things change, and follow what changes of them', async () => {
    const { pid } = (await a.get(`${CITY}/svc/board/x`)).body;
    await city.say(TABLES.replace('"gc.later.v2"', '"gc.healthz.v1"'));
    await city.until('later');
    expect((await a.get(`${CITY}/svc/board/x`)).body.pid).toBe(pid);
    await city.say(TABLES.replace('allow_websockets = true', 'allow_websockets = false'));
    await city.until('board', ({ allow_websockets, state }) => !allow_websockets && state === 'ready');
    expect((await a.get(`${CITY}/svc/board/x`)).body.pid).not.toBe(pid);
    const follows = startSvc(['service', 'logs', 'broken', '--follow'], { env: { SVC_API_URL: stack.urls[1]!, SVC_CITY: 'alpha' } });
    await follows.untilOut(/cannot/);
    await city.say(TABLES.replace('name = "broken"', 'name = "renamed"'));
    await eventually(async () => (await a.get(`${CITY}/service/broken`)).status === 404);
    // Its log ends with it, for whoever follows that too.
    expect(await follows.exited).toMatchObject({ code: 3, stderr: expect.stringContaining('svc service list') });
    expect(shown((await events('broken')).at(-1))).toMatch(/^stopped|^stopping/);
  });

  // Guard: services of a city that does not run are ended.
  it('end with their city, and come back with it', async () => {
    await city.until('board');
    const { pid } = (await a.get(`${CITY}/svc/board/x`)).body;
    await ledger.succeeded(await a.post('/v0/city/alpha/stop'), 'request.result.city.stop');
    expect(await a.get(`${CITY}/svc/board/x`)).toMatchObject({ status: 404, body: { detail: 'not_found: city not found or not running' } });
    const isThere = (): boolean => {
      try {
        return process.kill(pid, 0);
      } catch {
        return false;
      }
    };
    await eventually(() => Promise.resolve(!isThere()));
    await ledger.succeeded(await a.post('/v0/city/alpha/start'), 'request.result.city.start');
    await city.until('board');
    expect((await a.get(`${CITY}/svc/board/x`)).body.pid).not.toBe(pid);
  });
});
