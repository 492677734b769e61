import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { startStack, type Stack } from '../support/app.js';
import { api, type Api } from '../support/http.js';
import { Ledger } from '../support/ledger.js';
import { eventually } from '../support/sse.js';

/** Orders over HTTP: two replicas and two workers, of which any fires and runs them. */
let stack: Stack;
let a: Api;
let b: Api;
let ledger: Ledger;
const CITY = '/v0/city/alpha';

const inCity = (path: string): string => join(stack.citiesRoot, 'alpha', path);
async function order(name: string, text: string): Promise<void> {
  const at = inCity(`orders/${name}.toml`);
  await mkdir(dirname(at), { recursive: true });
  await writeFile(at, `[order]\n${text}\n`);
}
async function reload(): Promise<void> {
  expect(await a.post(`${CITY}/config/reload`)).toMatchObject({ status: 200 });
  // Read by a worker, too.
  await eventually(async () => {
    const { checks } = (await b.get(`${CITY}/orders/check`)).body;
    return checks.every(({ reason }: any) => reason !== 'not read by a worker yet');
  });
}
const entries = async (name: string): Promise<any[]> => (await b.get(`${CITY}/orders/history?scoped_name=${name}`)).body.entries;
/** The newest firing of an order, once it has ended. */
const ended = (name: string, count = 1): Promise<any> =>
  eventually(async () => {
    const done = (await entries(name)).filter(({ state }) => state === 'done');
    return done.length >= count && done[0];
  });
const told = async (name: string): Promise<string[]> =>
  (await a.get(`${CITY}/events?limit=500`)).body.items
    .filter(({ subject, type }: any) => subject === name && type.startsWith('order.'))
    .map(({ type }: any) => type)
    .reverse();

beforeAll(async () => {
  stack = await startStack({ workers: 2 });
  [a, b] = stack.urls.map((url) => api(url)) as [Api, Api];
  ledger = await Ledger.open(stack);
  await ledger.succeeded(await a.post('/v0/city', { dir: 'alpha', provider: 'loopback' }), 'request.result.city.create');
});
afterAll(async () => {
  await ledger?.stream.close();
  await stack?.stop();
});

describe('orders', () => {
  it('are shown with what they say and when they come, and run by hand once at a time', async () => {
    await order('digest', 'exec = "echo made"\ntrigger = "cron"\nschedule = "30 2 * * 1-5"\ntz = "Europe/Madrid"\ntimeout = "45s"');
    await order('deploy', 'exec = "echo $SVC_VAR_ref $GC_WEBHOOK_ARG_ref; exit 3"\ntrigger = "webhook"\nparams.ref.required = true');
    await order('hold', 'exec = "while ! test -e go; do sleep 0.02; done"\ntrigger = "manual"');
    await reload();
    const shown = (await b.get(`${CITY}/order/digest`)).body;
    expect(shown).toMatchObject({
      scoped_name: 'digest',
      type: 'exec',
      enabled: true,
      trigger: 'cron',
      tz: 'Europe/Madrid',
      timeout_ms: 45_000,
      source: { file: 'orders/digest.toml', pack: '' },
      origins: { schedule: { file: 'orders/digest.toml', key: 'order.schedule' } },
    });
    expect(shown.next).toHaveLength(5);
    expect(shown.next[0]).toBe(shown.next_due_at);

    expect(await a.post(`${CITY}/order/deploy/run`, {})).toMatchObject({ status: 422, body: { code: 'order-rejected' } });
    const headers = { 'Idempotency-Key': 'once' };
    const first = await a.post(`${CITY}/order/deploy/run`, { vars: { ref: 'v1' } }, headers);
    expect(first).toMatchObject({ status: 202, body: { status: 'dispatched', scoped_name: 'deploy' } });
    expect((await b.post(`${CITY}/order/deploy/run`, { vars: { ref: 'v1' } }, headers)).body).toEqual(first.body);
    expect(await ended('deploy')).toMatchObject({
      bead_id: first.body.tracking_id,
      cause: 'run',
      outcome: 'failed',
      exit_code: '3',
      error: 'exit status 3',
      output: 'v1 v1\n',
    });
    expect((await a.get(`${CITY}/order/deploy`)).body).toMatchObject({ consecutive_failures: 1, last_run_outcome: 'failed' });
    expect((await a.get(first.headers.get('location')!)).body).toMatchObject({ output: 'v1 v1\n', vars: { ref: 'v1' } });

    const held = await a.post(`${CITY}/order/hold/run`, {});
    expect(held.status).toBe(202);
    expect(await b.post(`${CITY}/order/hold/run`, {})).toMatchObject({ status: 409, body: { code: 'order-running' } });
    expect((await b.get(`${CITY}/orders/feed?scope_kind=city&scope_ref=alpha`)).body.items).toMatchObject([
      { bead_id: held.body.tracking_id },
    ]);
    expect((await b.post(`${CITY}/order/hold/run`, { force: true })).status).toBe(202);
    await writeFile(inCity('go'), '');
    await ended('hold', 2);
    expect((await entries('hold')).map(({ outcome }) => outcome)).toEqual(['success', 'success']);
    expect((await told('deploy')).sort()).toEqual(['order.failed', 'order.fired']);
    expect(await entries('none')).toEqual([]);
    expect((await a.get(`${CITY}/order/none`)).body).toMatchObject({ code: 'order-not-found' });
  });

  it('come by the clock, by a condition, and by events that are handed to them', async () => {
    await order('tick', 'exec = "echo tick"\ntrigger = "cooldown"\ninterval = "24h"');
    await order('when', 'exec = "echo when"\ntrigger = "condition"\ncheck = "test -e ready"\ninterval = "100ms"');
    await order('closed', 'exec = "echo $SVC_EVENT_SUBJECT $SVC_EVENT_COUNT"\ntrigger = "event"\non = "bead.closed"');
    await order('all', 'exec = "cat > /dev/null; echo $SVC_EVENT_TYPE"\ntrigger = "event"\non = "bead.closed"\ndelivery = "coalesce"');
    await reload();
    expect(await ended('tick')).toMatchObject({ cause: 'cooldown', outcome: 'success', output: 'tick\n', reason: 'never run' });
    expect((await a.get(`${CITY}/order/tick`)).body.next).toHaveLength(5);

    const ids: string[] = [];
    for (const title of ['one', 'two', 'three']) ids.push((await a.post(`${CITY}/beads`, { title })).body.id as string);
    for (const id of ids) expect((await a.post(`${CITY}/bead/${id}/close`)).status).toBe(200);
    await ended('closed', 3);
    expect((await entries('closed')).map(({ output }) => output.trim()).reverse()).toEqual(ids.map((id) => `${id} 1`));
    await ended('all');
    expect((await b.get(`${CITY}/order/history/${(await entries('closed'))[0].bead_id}`)).body.event).toMatchObject({
      type: 'bead.closed',
      subject: ids[2],
    });

    expect(await entries('when')).toEqual([]);
    await eventually(async () => {
      const { checks } = (await a.get(`${CITY}/orders/check`)).body;
      return checks.some(({ name, due, reason }: any) => name === 'when' && !due && reason === 'check command failed: exit status 1');
    });
    await writeFile(inCity('ready'), '');
    expect(await ended('when')).toMatchObject({ cause: 'condition', outcome: 'success', output: 'when\n' });
    expect(await a.post(`${CITY}/order/when/disable`)).toMatchObject({ status: 200, body: { status: 'disabled' } });
    expect(await readFile(inCity('city.toml'), 'utf8')).toContain('[[orders.overrides]]');
    // What the service brings is off until a city wants it.
    expect((await b.get(`${CITY}/orders?enabled=false`)).body.orders).toMatchObject([
      { name: 'daily-digest' },
      { name: 'when', enabled: false },
    ]);
    expect(await a.post(`${CITY}/order/when/enable`)).toMatchObject({ status: 200, body: { status: 'enabled' } });
    expect((await b.get(`${CITY}/orders?enabled=false`)).body.orders).toMatchObject([{ name: 'daily-digest' }]);
    expect((await b.get(`${CITY}/order/when`)).body.origins.enabled).toEqual({ file: 'city.toml', key: 'orders.overrides[0].enabled' });
    await a.post(`${CITY}/order/when/disable`);
  });

  it('are ended at their time, and say nothing of secrets', async () => {
    await order('slow', 'exec = "echo begun; exec sleep 600"\ntrigger = "manual"\ntimeout = "300ms"');
    await order('secret', 'exec = "echo token=$TOKEN key=abcdefgh1234"\ntrigger = "manual"\nenv = { API_TOKEN = "s3cr3t-value" }');
    await reload();
    await a.post(`${CITY}/order/slow/run`, {});
    expect(await ended('slow')).toMatchObject({ outcome: 'timeout', output: 'begun\n' });
    expect((await a.get(`${CITY}/order/secret`)).body.env).toEqual({ API_TOKEN: '********' });
    await a.post(`${CITY}/order/secret/run`, {});
    expect((await ended('secret')).output).not.toContain('abcdefgh1234');
  });

  it('launch formulas with their vars, in the transaction that ends the firing', async () => {
    await mkdir(inCity('formulas'), { recursive: true });
    const steps = '[vars]\nwho = { required = true }\n[[steps]]\nid = "say"\ntitle = "Greet {{who}}"\n';
    await writeFile(inCity('formulas/greet.toml'), `formula = "greet"\n${steps}`);
    await order('morning', 'formula = "greet"\ntrigger = "manual"\npool = "mayor"');
    await order('gone', 'formula = "nothing"\ntrigger = "manual"');
    await reload();
    expect((await b.get(`${CITY}/order/gone`)).body).toMatchObject({ type: 'formula', errors: ['formula nothing not found'] });
    expect((await b.get(`${CITY}/order/morning`)).body.timeout_ms).toBe(0);
    expect(await a.post(`${CITY}/order/gone/run`, {})).toMatchObject({ status: 409, body: { code: 'conflict-wrong-state' } });
    await a.post(`${CITY}/order/morning/run`, {});
    expect(await ended('morning')).toMatchObject({ outcome: 'failed', error: expect.stringContaining('who') });
    await a.post(`${CITY}/order/morning/run`, { vars: { who: 'Ada' } });
    const { wisp_root_id: run, outcome } = await ended('morning', 2);
    expect(outcome).toBe('success');
    expect((await b.get(`${CITY}/runs/${run}/steps`)).text).toContain('Greet Ada');
    expect((await b.get(`${CITY}/runs/${run}`)).text).toContain('mayor');
    expect((await told('morning')).sort()).toEqual(['order.completed', 'order.failed', 'order.fired', 'order.fired']);
  });

  it('are refused with file, line and key when their schedule is none', async () => {
    await order('wrong', 'exec = "true"\ntrigger = "cron"\nschedule = "61 * * * *"');
    const { valid, errors } = (await a.get(`${CITY}/config/validate`)).body;
    expect([valid, errors]).toEqual([false, [expect.stringContaining('orders/wrong.toml:4: order.schedule')]]);
    await writeFile(inCity('orders/wrong.toml'), '[order]\nexec = "true"\ntrigger = "manual"\n');
    await reload();
  });
});
