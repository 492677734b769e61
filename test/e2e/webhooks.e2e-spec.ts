import { createHmac } from 'node:crypto';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import pg from 'pg';
import { startStack, type Stack } from '../support/app.js';
import { svc } from '../support/cli.js';
import { adminAt } from '../support/database.js';
import { api, failures, type Api } from '../support/http.js';
import { Ledger } from '../support/ledger.js';
import { eventually } from '../support/sse.js';

/** What other systems send, at two replicas without keys and one with, of one city. */
let stack: Stack;
let a: Api;
let b: Api;
let guarded: string;
let ledger: Ledger;
const CITY = '/v0/city/alpha';
const SECRET = 'a secret of 16 or more'.replaceAll(' ', '-');
const TOKEN = 'token-token-token-token';

const FILES: Readonly<Record<string, string>> = {
  'orders/deploy.toml': `[order]\ntrigger = "webhook"\nexec = "echo $SVC_VAR_ref/$GC_WEBHOOK_ARG_who/$SVC_VAR_env"\n[order.params]\nref.required = true\nwho = {}\nenv = {}\n`,
  'orders/hold.toml': `[order]\ntrigger = "webhook"\nexec = "echo $SVC_VAR_n; while ! test -e go; do sleep 0.02; done"\nparams.n.required = true\n`,
  'orders/report.toml': `[order]\ntrigger = "webhook"\nformula = "report"\npool = "mayor"\nparams.title.required = true\n`,
  'formulas/report.toml': `formula = "report"\n[vars.title]\nrequired = true\n[[steps]]\nid = "say"\ntitle = "Look at {{title}}"\n`,
};
const HOOKS = `
[webhooks]
allow_public = ["hub", "board"]
rate_limit = { override = [{ name = "slow", per_minute = 1, burst = 2 }] }
[[webhook]]
name = "pushes"
[[webhook.rule]]
match = { ref = "refs/heads/*", "commits.0.author" = "ada" }
order = "deploy"
args = { ref = "{{ref}}", who = "{{commits.0.author}} by {{@identity}}" }
[[webhook.rule]]
match = { wrong = "yes" }
order = "deploy"
args = { ref = "{{none}}" }
[[webhook]]
name = "holds"
rule = [{ order = "hold", args = { n = "{{n}}" } }]
[[webhook]]
name = "slow"
rule = [{ order = "report", match = { never = "x" }, args = { title = "x" } }]
[[webhook]]
name = "hub"
publication = { visibility = "public" }
verify = { scheme = "github", secret_env = "SVC_WEBHOOK_SECRET_HUB" }
rule = [{ event = "issues", order = "report", args = { title = "{{issue.title}}" } }]
[[webhook]]
name = "board"
publication = { visibility = "public" }
verify = { scheme = "bearer", bearer_env = "SVC_WEBHOOK_SECRET_BOARD", signature_header = "X-Token" }
rule = [{ order = "report", args = { title = "{{t}}" } }]
[[webhook]]
name = "stamped"
publication = { visibility = "private" }
verify = { scheme = "hmac-sha256", secret_env = "SVC_WEBHOOK_SECRET_GONE", signature_header = "X-Sig" }
rule = [{ order = "report", args = { title = "{{t}}" } }]
[[webhook]]
name = "timed"
verify = { scheme = "hmac-sha256", secret_env = "SVC_WEBHOOK_SECRET_HUB", signature_header = "X-Sig", timestamp_header = "X-Time", dedup_header = "X-Id" }
rule = [{ order = "report", args = { title = "{{t}}" } }]
[[webhook]]
name = "far"
verify = { scheme = "hmac-sha256", secret_env = "SVC_WEBHOOK_SECRET_HUB", signature_header = "X-Sig", allowed_cidrs = ["192.0.2.0/24"] }
rule = [{ order = "report", args = { title = "{{t}}" } }]
`;

interface Answer {
  readonly status: number;
  readonly body: any;
  readonly headers: Headers;
}
async function send(base: string, hook: string, body: unknown, headers: Record<string, string> = {}): Promise<Answer> {
  const text = typeof body === 'string' ? body : JSON.stringify(body);
  const init = { method: 'POST', body: text, headers: { 'content-type': 'application/json', ...headers } };
  const response = await fetch(`${base}${CITY}/hook/${hook}`, init);
  return { status: response.status, body: await response.json(), headers: response.headers };
}
const signed = (body: string, more: Record<string, string> = {}): Record<string, string> => ({
  'x-hub-signature-256': `sha256=${createHmac('sha256', SECRET).update(body).digest('hex')}`,
  'x-github-event': 'issues',
  ...more,
});
const told = async (hook: string, type = 'webhook.'): Promise<any[]> =>
  (await a.get(`${CITY}/events?limit=500`)).body.items.filter((each: any) => each.subject === hook && each.type.startsWith(type)).reverse();
const entries = async (order: string): Promise<any[]> => (await b.get(`${CITY}/orders/history?scoped_name=${order}`)).body.entries;
const done = (order: string, count: number): Promise<any[]> =>
  eventually(async () => {
    const found = (await entries(order)).filter(({ state }) => state === 'done');
    return found.length >= count && found;
  });

beforeAll(async () => {
  const webhookSecrets = new Map([
    ['SVC_WEBHOOK_SECRET_HUB', [SECRET, 'an-older-one-than-that']],
    ['SVC_WEBHOOK_SECRET_BOARD', [TOKEN]],
  ]);
  stack = await startStack({ workers: 1, config: { webhookSecrets } });
  [a, b] = stack.urls.map((url) => api(url)) as [Api, Api];
  ledger = await Ledger.open(stack);
  guarded = (await stack.add('api', { auth: 'keys' })).url;
  await ledger.succeeded(await a.post('/v0/city', { dir: 'alpha', provider: 'loopback' }), 'request.result.city.create');
  const text = await readFile(join(stack.citiesRoot, 'alpha/city.toml'), 'utf8');
  for (const [at, content] of Object.entries({ ...FILES, 'city.toml': text + HOOKS })) {
    await mkdir(dirname(join(stack.citiesRoot, 'alpha', at)), { recursive: true });
    await writeFile(join(stack.citiesRoot, 'alpha', at), content);
  }
  expect(await a.post(`${CITY}/config/reload`)).toMatchObject({ status: 200 });
  await eventually(async () => {
    const { checks } = (await b.get(`${CITY}/orders/check`)).body;
    return checks.every(({ reason }: any) => reason !== 'not read by a worker yet');
  });
});
afterAll(async () => {
  await ledger?.stream.close();
  await stack?.stop();
});

describe('webhooks', () => {
  const PUSH = { ref: 'refs/heads/main; rm -rf /', commits: [{ author: 'ada' }] };

  it('fire the order whose rule fits, with what the body says as variables, once a delivery', async () => {
    const [first, again] = await Promise.all(stack.urls.slice(0, 2).map((url) => send(url, 'pushes', PUSH)));
    expect([first!.status, again!.status].sort()).toEqual([200, 202]);
    expect([first!.body, again!.body]).toContainEqual({ status: 'accepted' });
    expect([first!.body, again!.body]).toContainEqual({ status: 'ok', deduped: true });
    const [firing] = await done('deploy', 1);
    expect(firing).toMatchObject({ cause: 'webhook', actor: 'webhook:pushes', output: 'refs/heads/main; rm -rf //ada by api/\n' });
    expect((await send(stack.urls[0]!, 'pushes', { ref: 'refs/tags/v1' })).body).toEqual({ status: 'ok', matched: false });
    const events = await told('pushes');
    expect(events.map(({ payload: { matched, deduped, dispatched, rule_index } }) => [matched, deduped, dispatched, rule_index])).toEqual([
      [true, false, true, 0],
      [true, true, false, 0],
      [false, false, false, -1],
    ]);
    expect(events[0]).toMatchObject({ actor: 'webhook:pushes', payload: { tracking_id: firing.bead_id, order: 'deploy', scheme: 'none' } });
    expect(await entries('deploy')).toHaveLength(1);
  });

  it('refuse what cannot be done, and change nothing', async () => {
    const to = (body: unknown, hook = 'pushes'): Promise<Answer> => send(stack.urls[0]!, hook, body);
    const before = (await entries('deploy')).length;
    expect(await to({ wrong: 'yes' })).toMatchObject({
      status: 422,
      body: { code: 'order-rejected', detail: expect.stringContaining('ref') },
    });
    expect(await to({ ref: 'refs/heads/x\0y', commits: [{ author: 'ada' }] })).toMatchObject({
      status: 422,
      body: { code: 'webhook-rejected' },
    });
    expect(await to('{"ref":')).toMatchObject({ status: 422, body: { code: 'webhook-rejected' } });
    expect(await to(PUSH, 'none')).toMatchObject({ status: 404, body: { detail: 'not_found: webhook route not found' } });
    expect(await to(`"${'x'.repeat(1024 * 1024)}"`)).toMatchObject({ status: 413 });
    expect(await send(stack.urls[0]!, 'pushes', PUSH, { origin: 'http://localhost:3000' })).toMatchObject({ status: 403 });
    expect(await send(stack.urls[0]!, 'pushes', PUSH, { 'content-type': 'text/plain' })).toMatchObject({ status: 415 });
    expect(await send(stack.urls[0]!, 'pushes', PUSH, { 'content-encoding': 'gzip' })).toMatchObject({ status: 415 });
    const deep = `{"n":${'['.repeat(200_000)}${']'.repeat(200_000)}}`;
    expect(await to(deep, 'holds')).toMatchObject({ status: 422, body: { code: 'webhook-rejected' } });
    expect(await to({}, 'stamped')).toMatchObject({ status: 503 });
    expect((await fetch(`${stack.urls[0]!}${CITY}/hook/pushes`)).status).toBe(405);
    expect((await told('pushes', 'webhook.rejected')).map(({ payload }) => payload.reason)).toEqual([
      'dispatch_refused',
      'match_error',
      'bad_payload',
    ]);
    expect((await told('stamped')).map(({ payload }) => payload.reason)).toEqual(['operator_fault']);
    expect(await entries('deploy')).toHaveLength(before);
  });

  // Guard: whoever suspends a city that somebody sends to wakes those who run the service.
  it('are to be sent again while the city is suspended, which is no failure of the service', async () => {
    const before = await failures(a);
    expect(await a.patch(CITY, { suspended: true })).toMatchObject({ status: 200 });
    try {
      const answer = await send(stack.urls[0]!, 'pushes', { ...PUSH, again: true });
      expect([answer.status, answer.headers.get('retry-after'), answer.body.detail]).toEqual([
        503,
        '30',
        expect.stringContaining('suspended'),
      ]);
    } finally {
      expect(await a.patch(CITY, { suspended: false })).toMatchObject({ status: 200 });
    }
    expect((await told('pushes', 'webhook.rejected')).at(-1).payload.reason).toBe('dispatch_unavailable');
    expect(await failures(a)).toBe(before);
  });

  it('wait while their order is carried out, each for the one before it', async () => {
    for (const n of [1, 2, 3]) expect(await send(stack.urls[n % 2]!, 'holds', { n })).toMatchObject({ status: 202 });
    await tooMany();
    const hooks = (await b.get(`${CITY}/orders/hooks`)).body.webhooks;
    expect(hooks.find(({ name }: any) => name === 'holds')).toMatchObject({ waiting: 2, ready: true, path: `${CITY}/hook/holds` });
    expect(hooks.find(({ name }: any) => name === 'stamped')).toMatchObject({
      ready: false,
      errors: ['the service has no SVC_WEBHOOK_SECRET_GONE'],
    });
    expect((await send(stack.urls[0]!, 'holds', { n: 2 })).body).toEqual({ status: 'ok', deduped: true });
    await repeatedWhileFired();
    await writeFile(join(stack.citiesRoot, 'alpha', 'go'), '');
    const all = await done('hold', 3);
    expect(all.map(({ output }) => output)).toEqual(['3\n', '2\n', '1\n']);
    // What a sender was told to have accepted is found under the name that it was given.
    expect((await told('holds')).flatMap(({ payload }) => payload.tracking_id ?? []).reverse()).toEqual(all.map(({ bead_id }) => bead_id));
  });

  /** No order has more than a hundred that wait for it, whoever sends them. */
  async function tooMany(): Promise<void> {
    const before = await failures(a);
    const copied = `stream_id, hook, 'copy ' || n, scoped_name, firing_id, vars, waiting, received_at, expires_at`;
    await adminAt(
      stack.databaseUrl,
      `insert into webhook_deliveries (stream_id, hook, delivery, scoped_name, firing_id, vars, waiting, received_at, expires_at)
        (select ${copied} from webhook_deliveries, generate_series(1, 98) n where hook = 'holds' and waiting order by pk limit 98)`,
    );
    const answer = await send(stack.urls[0]!, 'holds', { n: 4 });
    await adminAt(stack.databaseUrl, `delete from webhook_deliveries where delivery like 'copy %'`);
    expect([answer.status, answer.body.detail]).toEqual([503, expect.stringContaining('100 deliveries wait')]);
    expect(await failures(a)).toBe(before);
  }

  /** A sender repeats what waits just when it is about to be fired: neither waits for the other without end. */
  async function repeatedWhileFired(): Promise<void> {
    const firing = new pg.Client({ connectionString: stack.databaseUrl });
    await firing.connect();
    try {
      await firing.query('begin');
      await firing.query(`select from orders where scoped_name = 'hold' for update`);
      const repeated = send(stack.urls[0]!, 'holds', { n: 2 });
      const blocked = `select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`;
      await eventually(async () => (await adminAt(stack.databaseUrl, blocked)).length > 0);
      await firing.query(`update webhook_deliveries set waiting = waiting where waiting`);
      await firing.query('commit');
      expect((await repeated).body).toEqual({ status: 'ok', deduped: true });
    } finally {
      await firing.end();
    }
  }

  it('know their senders where keys are asked for, and tell nobody else what there is', async () => {
    const body = JSON.stringify({ issue: { title: 'the roof' } });
    const events = (): Promise<any[]> => told('hub', 'webhook.rejected');
    for (const hook of ['pushes', 'none'])
      expect(await send(guarded, hook, PUSH)).toMatchObject({ status: 401, body: { code: 'unauthorized' } });
    expect(await send(guarded, 'hub', body)).toMatchObject({ status: 401 });
    expect(await send(guarded, 'hub', body, signed(`${body} `))).toMatchObject({ status: 401 });
    expect((await events()).map(({ payload: { reason, status } }) => [reason, status])).toEqual([
      ['verify_failed', 401],
      ['verify_failed', 401],
    ]);
    expect(await send(guarded, 'hub', body, signed(body, { 'x-github-delivery': 'd1' }))).toMatchObject({ status: 202 });
    expect((await send(guarded, 'hub', body, signed(body, { 'x-github-delivery': 'd1' }))).body).toEqual({ status: 'ok', deduped: true });
    expect((await send(guarded, 'hub', body, { ...signed(body), 'x-github-event': 'ping' })).body).toEqual({
      status: 'ok',
      matched: false,
    });
    const [{ wisp_root_id: run }] = (await done('report', 1)) as [any];
    expect((await b.get(`${CITY}/runs/${run}/steps`)).text).toContain('Look at the roof');
    expect(await send(guarded, 'board', { t: 'a' }, { 'x-token': `${TOKEN}x` })).toMatchObject({ status: 401 });
    expect(await send(guarded, 'board', { t: 'a' }, { 'x-token': TOKEN })).toMatchObject({ status: 202 });
    expect(await send(stack.urls[0]!, 'far', { t: 'a' })).toMatchObject({ status: 403, body: { code: 'forbidden' } });
    expect(JSON.stringify((await a.get(`${CITY}/events?limit=500`)).body)).not.toContain(SECRET);
    expect((await a.get(`${CITY}/orders/hooks`)).text).not.toContain(TOKEN);
  });

  it('count once by what is signed, whatever id is sent with it, and wait once', async () => {
    const body = JSON.stringify({ t: 'once' });
    const now = Math.floor(Date.now() / 1_000);
    const at = (time: number, id: string): Record<string, string> => ({
      ...{ 'x-time': String(time), 'x-id': id },
      'x-sig': createHmac('sha256', SECRET).update(`${time}.${body}`).digest('hex'),
    });
    const sent = async (replica: number, time: number, id: string): Promise<unknown> =>
      (await send(stack.urls[replica]!, 'timed', body, at(time, id))).body;
    const deduped = { status: 'ok', deduped: true };
    const before = (await entries('report')).length;
    expect(await sent(0, now, 'one')).toEqual({ status: 'accepted' });
    expect(await sent(1, now, 'two')).toEqual(deduped);
    // A sender that tries again signs anew, and is heard once.
    expect(await sent(1, now - 1, 'one')).toEqual(deduped);
    expect(await sent(0, now - 1, 'three')).toEqual(deduped);
    for (const [n, id] of ['four', 'five'].entries()) expect(await sent(n, now - 2 - n, id)).toEqual({ status: 'accepted' });
    const all = await done('report', before + 3);
    expect(all).toHaveLength(before + 3);
    // What it says is kept once.
    const kept = `select 1 from webhook_deliveries where hook = 'timed' and vars <> '{}'`;
    expect(await adminAt(stack.databaseUrl, kept)).toHaveLength(3);
  });

  it('fill no log, whoever sends how much', async () => {
    for (let n = 0; n < 40; n++) await send(stack.urls[0]!, 'hub', { n });
    expect((await told('hub', 'webhook.rejected')).length).toBeLessThan(12);
    const answers = await Promise.all([1, 2, 3].map((n) => send(stack.urls[0]!, 'slow', { n })));
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 200, 429]);
    expect(answers.find(({ status }) => status === 429)!.headers.get('retry-after')).toMatch(/^\d+$/);
  });

  it('are listed by the client', async () => {
    const { code, stdout } = await svc(['order', 'hooks'], { env: { SVC_API_URL: stack.urls[0]!, SVC_CITY: 'alpha' } });
    expect([code, stdout]).toEqual([0, expect.stringMatching(/hub +public +github +yes .*\/hook\/hub/)]);
    expect(stdout).toMatch(/stamped +private +hmac-sha256 +no .*SVC_WEBHOOK_SECRET_GONE/);
  });
});
