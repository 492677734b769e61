import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { chmod, mkdir, readFile, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { startStack, testRedisUrl, type Stack } from '../support/app.js';
import { svc } from '../support/cli.js';
import { adminAt } from '../support/database.js';
import { api, type Api } from '../support/http.js';
import { Ledger } from '../support/ledger.js';
import { eventually } from '../support/sse.js';
import { spawnSupervisor, type SupervisorProcess } from '../support/supervisor-process.js';

/** Orders on hosts that are processes of their own, which call an api that asks for keys. */
let stack: Stack;
let a: Api;
let guarded: string;
let ledger: Ledger;
const workers: SupervisorProcess[] = [];
const CITY = '/v0/city/alpha';
const inCity = (path: string): string => join(stack.citiesRoot, 'alpha', path);
/** Says who has begun, and whether the one before is still there: what nobody has buried has no command line. */
const LOOK =
  'test -s NAME && grep -qa sleep /proc/$(head -1 NAME | cut -d" " -f2)/cmdline && both=both; echo "$PPID $$ $both" >> NAME; test -e free || exec sleep 600';
const CALL = `
const call = async (method, path, body) => {
  const headers = { authorization: 'Bearer ' + process.env.SVC_SESSION_TOKEN, 'x-svc-request': '1', 'content-type': 'application/json' };
  const answer = await fetch(process.env.SVC_API_URL + path, { method, headers, body: body && JSON.stringify(body) });
  console.log(answer.status, (await answer.json()).detail ?? '');
};
await call('POST', '/v0/city/alpha/beads', { title: 'made by ' + process.env.GC_WEBHOOK_ARG_by });
await call('GET', '/v0/city/other/beads');
await call('POST', '/v0/city/alpha/order/call/disable');
`;

const FILES: Readonly<Record<string, string>> = {
  'orders/once.toml': `[order]\ntrigger = "manual"\nexec = ${JSON.stringify(LOOK.replaceAll('NAME', 'once'))}\n`,
  'orders/again.toml': `[order]\ntrigger = "manual"\nidempotent = true\nexec = ${JSON.stringify(LOOK.replaceAll('NAME', 'again'))}\n`,
  'orders/call.toml': `[order]\ntrigger = "webhook"\nexec = "\\"$SVC_NODE\\" call.mjs; echo $SVC_SESSION_TOKEN > token; while ! test -e told; do sleep 0.02; done"\n[order.params]\nby = { required = true }\nnote = { required = false }\n`,
  'orders/weekdays.toml': `[order]\nformula = "digest"\ntrigger = "cron"\nschedule = "15 3 * * 1-5"\ntz = "Europe/Vienna"\nscope = "city"\npool = "mayor"\ntimeout = "40s"\n`,
  'call.mjs': CALL,
  'formulas/digest.toml': 'formula = "digest"\n[[steps]]\nid = "sum"\ntitle = "Sum up the day"\n',
  'pack/pack.toml': '[pack]\nname = "indexing"\nschema = 2\n',
  'pack/orders/refresh.toml': `[order]\nexec = "$PACK_DIR/assets/refresh.sh"\ntrigger = "event"\non = "bead.closed"\nscope = "rig"\ntimeout = "90s"\nidempotent = true\n[order.env]\nMODE = "some"\n`,
  'pack/assets/refresh.sh': '#!/bin/sh\necho "$SVC_RIG $MODE $SVC_EVENT_SUBJECT in $(basename "$PWD")"\n',
};

async function client(...args: string[]): Promise<{ code: number | null; stdout: string; stderr: string }> {
  return svc(args, { env: { SVC_API_URL: stack.urls[0]!, SVC_CITY: 'alpha' } });
}
async function ok(...args: string[]): Promise<string> {
  const { code, stdout, stderr } = await client(...args);
  expect([args, code, code === 0 ? '' : stderr]).toEqual([args, 0, '']);
  return stdout.trim();
}
async function worker(): Promise<SupervisorProcess> {
  const started = spawnSupervisor({
    SVC_ROLE: 'worker',
    SVC_DATABASE_URL: stack.databaseUrl,
    SVC_CITIES_ROOT: stack.citiesRoot,
    SVC_DATA_DIR: stack.config.dataDir,
    SVC_PROVIDER_CHECK: 'off',
    SVC_RUNNER_ISOLATION: 'none',
    SVC_API_URL: guarded,
    ...(testRedisUrl === undefined ? {} : { SVC_REDIS_URL: testRedisUrl }),
  });
  workers.push(started);
  await started.ready();
  return started;
}
const lines = (name: string): Promise<string[]> =>
  readFile(inCity(name), 'utf8').then(
    (text) => text.trim().split('\n'),
    () => [],
  );
const firing = async (id: string): Promise<any> => (await a.get(`${CITY}/order/history/${id}`)).body;
const ended = (id: string): Promise<any> =>
  eventually(async () => {
    const found = await firing(id);
    return found.entry?.state === 'done' && found;
  });
const lives = (pid: number): Promise<boolean> =>
  readFile(`/proc/${pid}/cmdline`, 'utf8').then(
    (line) => line !== '',
    () => false,
  );

beforeAll(async () => {
  stack = await startStack({ apis: 1, workers: 0 });
  a = api(stack.urls[0]!);
  ledger = await Ledger.open(stack);
  guarded = (await stack.add('api', { auth: 'keys' })).url;
  await Promise.all([worker(), worker()]);
  await ledger.succeeded(await a.post('/v0/city', { dir: 'alpha', provider: 'loopback' }), 'request.result.city.create');
  for (const [at, content] of Object.entries(FILES)) {
    await mkdir(dirname(inCity(at)), { recursive: true });
    await writeFile(inCity(at), content);
  }
  await chmod(inCity('pack/assets/refresh.sh'), 0o755);
  for (const rig of ['mill', 'dock']) {
    await mkdir(inCity(rig), { recursive: true });
    expect(await a.post(`${CITY}/rigs`, { name: rig, path: rig })).toMatchObject({ status: expect.any(Number) });
  }
  const text = await readFile(inCity('city.toml'), 'utf8');
  const withPacks = text.replaceAll(/name = "(mill|dock)"\n/g, (whole) => `${whole}imports = { indexing = { source = "pack" } }\n`);
  await writeFile(inCity('city.toml'), withPacks);
  expect(await a.post(`${CITY}/config/reload`)).toMatchObject({ status: 200 });
});
afterAll(async () => {
  for (const { child } of workers) child.kill('SIGKILL');
  await Promise.all(workers.map(({ exited }) => exited));
  await ledger?.stream.close();
  await stack?.stop();
});

describe('orders on hosts', () => {
  it('come by their schedule, once a rig, and with what is handed to them, all by the client', async () => {
    const { code, stdout, stderr } = await client('order', 'check', '--json');
    const due = (JSON.parse(stdout).checks as { due: boolean }[]).some((check) => check.due);
    expect([code, stderr]).toEqual(due ? [0, ''] : [1, expect.stringContaining('nothing is due')]);
    expect(JSON.parse(await ok('order', 'show', 'weekdays', '--json')).next).toHaveLength(5);
    const run = await ok('order', 'run', 'weekdays');
    expect((await ended(run)).entry).toMatchObject({ outcome: 'success', wisp_root_id: expect.any(String) });
    const bead = JSON.parse(await ok('bead', 'create', 'Close me', '--json')).id as string;
    await ok('bead', 'close', bead);
    for (const rig of ['mill', 'dock']) {
      const [entry] = await eventually(async () => {
        const { entries } = (await a.get(`${CITY}/orders/history?scoped_name=refresh:rig:${rig}`)).body;
        return entries.length > 0 && entries[0].state === 'done' && entries;
      });
      expect(entry).toMatchObject({ outcome: 'success', output: `${rig} some ${bead} in ${rig}\n` });
    }
    expect((await client('order', 'run', 'call')).stderr).toContain('by');
  });

  // Guard: a command's token is good while the command is carried out.
  it('call the api with a token of their own, as long as they are carried out, and in their city only', async () => {
    const id = await ok('order', 'run', 'call', '--var', 'by=order');
    const [token] = await eventually(async () => (await lines('token')).length === 1 && lines('token'));
    const info = (): Promise<Response> => fetch(`${guarded}/v0/info`, { headers: { authorization: `Bearer ${token!}` } });
    expect((await info()).status).toBe(200);
    await writeFile(inCity('told'), '');
    const { output } = await ended(id);
    expect(output.split('\n').slice(0, 3)).toEqual([
      '201 ',
      '404 not_found: city not found or not running: other',
      '403 forbidden: the API key lacks the right "configure"',
    ]);
    expect((await info()).status).toBe(401);
    const { items } = (await a.get(`${CITY}/events?limit=500`)).body;
    expect(items).toContainEqual(expect.objectContaining({ type: 'bead.created', actor: 'order:call' }));
  });

  it('are lost with a host that is killed, or done again where that may be, and never twice at once', async () => {
    const ids = [await ok('order', 'run', 'once'), await ok('order', 'run', 'again')];
    const begun = await eventually(async () => {
      const found = await Promise.all(['once', 'again'].map(lines));
      return found.every((each) => each.length === 1) && found.map(([line]) => line!.split(' ').map(Number) as [number, number]);
    });
    for (const { child, exited } of workers.filter(({ child: { pid } }) => begun.some(([parent]) => parent === pid))) {
      child.kill('SIGKILL');
      await exited;
    }
    // To start a worker may take longer than the rest of a lease.
    await adminAt(stack.databaseUrl, `update order_firings set lease_until = now() + interval '1 h' where state <> 'done'`);
    await writeFile(inCity('free'), '');
    // Nobody takes it before the lease has run out.
    await worker();
    expect((await firing(ids[0]!)).entry.state).toBe('running');
    await adminAt(stack.databaseUrl, `update order_firings set lease_until = now() - interval '1 s' where state <> 'done'`);
    expect((await ended(ids[0]!)).entry).toMatchObject({ outcome: 'lost', error: expect.stringContaining('was lost') });
    expect((await ended(ids[1]!)).entry).toMatchObject({ outcome: 'success' });
    expect([(await lines('once')).length, (await lines('again')).length]).toEqual([1, 2]);
    expect((await lines('again'))[1]).not.toContain('both');
    await eventually(async () => !(await Promise.all(begun.map(([, pid]) => lives(pid)))).includes(true));
    const told = (await a.get(`${CITY}/events?limit=500`)).body.items.filter(
      ({ subject, type }: any) => subject === 'once' && type === 'order.failed',
    );
    expect(told).toHaveLength(1);
  });
});
