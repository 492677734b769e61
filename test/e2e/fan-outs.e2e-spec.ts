import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { startStack, type Stack } from '../support/app.js';
import { killSvc, svc } from '../support/cli.js';
import { adminAt } from '../support/database.js';
import { api, type Api, type Reply } from '../support/http.js';
import { Ledger } from '../support/ledger.js';
import { eventually } from '../support/sse.js';
import { spawnSupervisor } from '../support/supervisor-process.js';

/** More than two steps of each kind. */
const DEPENDENTS = 700;
const AGENTS = 500;
const NAME = 'wide';
const city = `/v0/city/${NAME}`;

let stack: Stack;
let a: Api;
let b: Api;
let ledger: Ledger;

beforeAll(async () => {
  stack = await startStack({ workers: 0 });
  [a, b] = stack.urls.map((url) => api(url)) as [Api, Api];
  ledger = await Ledger.open(stack);
  await sql(
    `with s as (insert into event_streams (name) values ('${NAME}') returning id),
       c as (insert into cities (name, dir, stream_id, running, phase) select '${NAME}', '/${NAME}', id, true, 'running' from s),
       r as (insert into rigs (stream_id, name, prefix) select id, '', 'wi' from s),
       n as (insert into bead_counters (stream_id, prefix, last) select id, 'wi', ${DEPENDENTS} from s),
       g as (insert into agents (stream_id, name, base, kind) select s.id, 'agent-' || n, 'agent-' || n, 'agent' from s, generate_series(1, ${AGENTS}) n)
     insert into beads (stream_id, id, title, open_blockers)
     select s.id, 'wi-' || n, 'bead ' || n, case when n = 1 then 0 else 1 end from s, generate_series(1, ${DEPENDENTS} + 1) n`,
  );
  await sql(
    `insert into bead_dependencies (stream_id, issue_id, depends_on_id, type)
     select stream_id, id, 'wi-1', 'blocks' from beads where id <> 'wi-1'`,
  );
  await sql('update bead_counters set last = last + 1');
});
afterAll(async () => {
  killSvc();
  await ledger?.stream.close();
  await stack?.stop();
});

const sql = <R extends object>(text: string, values: unknown[] = []): Promise<R[]> =>
  adminAt<R & Record<string, unknown>>(stack.databaseUrl, text, values);

/** A worker process that ends by SIGKILL after a step. */
const killedAfterAStep = async (): Promise<void> => {
  const { databaseUrl, config } = stack;
  const worker = spawnSupervisor({
    SVC_ROLE: 'worker',
    SVC_DATABASE_URL: databaseUrl,
    SVC_DATA_DIR: config.dataDir,
    SVC_PROVIDER_CHECK: 'off',
    SVC_TEST_FAILPOINTS: 'fan_out.after_step=kill',
    ...(config.redisUrl === undefined ? {} : { SVC_REDIS_URL: config.redisUrl }),
  });
  const { signal } = await worker.exited;
  expect({ signal, output: worker.output() }).toMatchObject({ signal: 'SIGKILL' });
  await sql("update operations set lease_until = clock_timestamp() where state = 'running'");
};
const endsOf = async ({ body }: Reply): Promise<number> =>
  (await sql("select from events where type like 'request.%' and payload ->> 'request_id' = $1", [body.request_id])).length;
const typed = (type: string): Promise<{ subject: string; message: string | null; payload: Record<string, unknown> }[]> =>
  sql('select subject, message, payload from events where type = $1 order by seq', [type]);

describe('what is done in steps, when its worker is killed in the middle', () => {
  it('is told to every dependent once, and its end once', async () => {
    expect((await a.post(`${city}/bead/wi-1/close`)).status).toBe(200);
    await killedAfterAStep();
    const { told } = (await b.get(`${city}/bead/wi-1/dependencies?direction=up&limit=1`)).body.fan_out;
    expect(told).toBeGreaterThan(0);
    expect(told).toBeLessThan(DEPENDENTS);
    // Writers at both replicas go on meanwhile: with what was told already, with what was not, and with a new dependent.
    const [first] = await typed('bead.updated');
    const waiting = `wi-${(await sql<{ id: number }>('select min(substr(id, 4)::int) as id from beads where open_blockers > 0'))[0]!.id}`;
    expect((await b.get(`${city}/bead/${waiting}/dependencies`)).body).toMatchObject({ blocked_by: [], settling: ['wi-1'] });
    const refused = await b.post(`${city}/bead/${waiting}/claim`, { assignee: 'agent-1' });
    expect(refused.body.detail).toBe(
      `conflict: bead ${waiting} has yet to be told that what blocked it is closed, in a fan-out; force takes it all the same`,
    );
    expect((await b.post(`${city}/bead/${first!.subject}/claim`, { assignee: 'agent-1' })).status).toBe(200);
    expect((await a.delete(`${city}/bead/${waiting}?hard=true&force=true`)).status).toBe(200);
    const made = (await b.post(`${city}/beads`, { title: 'new', needs: ['wi-1'] })).body.id as string;
    expect((await a.get(`${city}/bead/${made}`)).body.is_blocked).toBe(false);
    const worker = await stack.add('worker');
    await eventually(async () => (await typed('bead.dependents_updated')).length > 0);
    await worker.stop();
    expect(await typed('bead.dependents_updated')).toMatchObject([{ subject: 'wi-1', payload: { status: 'closed', told: DEPENDENTS } }]);
    const updated = (await typed('bead.updated')).filter(({ payload }) => (payload.bead as { status: string }).status === 'open');
    expect(new Set(updated.map(({ subject }) => subject)).size).toBe(updated.length);
    expect(updated).toHaveLength(DEPENDENTS - 1);
    expect(await sql('select id from beads where open_blockers <> 0')).toEqual([]);
    const removed = await a.delete(`${city}/bead/wi-1?hard=true&force=true`);
    expect({ status: removed.status, body: removed.body }).toEqual({ status: 200, body: { status: 'deleted' } });
    expect(await typed('bead.deleted')).toMatchObject([{ subject: waiting }, { subject: 'wi-1' }]);
    expect(await sql('select from bead_dependencies')).toEqual([]);
  });

  it('is sent to every recipient once: those who were there when it was accepted', async () => {
    const send = () => a.post(`${city}/mail/broadcast`, { subject: 'all hands', from: 'agent-1' }, { 'Idempotency-Key': 'k' });
    const accepted = await send();
    expect(accepted).toMatchObject({ status: 202, body: { items: [], total: AGENTS - 1 } });
    const again = await send();
    expect({ status: again.status, body: again.body }).toEqual({ status: 202, body: accepted.body });
    await killedAfterAStep();
    const sent = (await typed('mail.sent')).length;
    expect(sent).toBeGreaterThan(0);
    expect(sent).toBeLessThan(AGENTS - 1);
    await sql(`update agents set present = false where name = 'agent-${AGENTS}'`);
    await sql(`insert into agents (stream_id, name, base, kind) select stream_id, 'late', 'late', 'agent' from agents limit 1`);
    const worker = await stack.add('worker');
    expect(await ledger.ended(accepted)).toMatchObject({ type: 'request.result.mail.broadcast', payload: { sent: AGENTS - 1 } });
    const to = (await typed('mail.sent')).map(({ message }) => message);
    expect(to.sort()).toEqual(Array.from({ length: AGENTS - 1 }, (_, n) => `agent-${n + 2}`).sort());
    expect((await b.get(`${city}/mail/count`)).body.total).toBe(AGENTS - 1);
    expect(await sql('select request_id from mail_broadcasts')).toEqual([]);
    await ledger.settle();
    const env = { SVC_API_URL: stack.urls[1]!, SVC_CITY: NAME };
    const byHand = await svc(['mail', 'broadcast', '--subject', 'Thaw'], { env });
    expect([byHand.code, byHand.stdout]).toEqual([0, `sent to ${AGENTS}\n`]);
    await worker.stop();
  });

  it('is slung once, bead by bead, and says of each what became of it', async () => {
    const beads = Array.from({ length: 350 }, (_, n) => `wi-${n + 100}`);
    const [slung, closed, missing] = [beads[340]!, beads[341]!, 'wi-none'];
    const sling = () => a.post(`${city}/sling/batch`, { target: 'agent-2', beads: [...beads, missing] }, { 'Idempotency-Key': 's' });
    const accepted = await sling();
    expect(accepted).toMatchObject({ status: 202, body: { status: 'accepted', target: 'agent-2', total: 351, results: [] } });
    const again = await sling();
    expect({ status: again.status, body: again.body }).toEqual({ status: 202, body: accepted.body });
    const batch = `${city}/sling/batch/${accepted.body.request_id}`;
    expect((await b.get(batch)).body).toMatchObject({ status: 'accepted', done: 0, results: [] });
    await killedAfterAStep();
    const { body: half } = await b.get(`${batch}?limit=1000`);
    expect(half).toMatchObject({ status: 'running', total: 351, done: 50, slung: 50, results: { length: 50 } });
    // Writers at both replicas go on meanwhile, with what comes later.
    expect((await b.post(`${city}/sling`, { target: 'agent-2', bead: slung })).status).toBe(200);
    expect((await a.post(`${city}/bead/${closed}/close`)).status).toBe(200);
    const worker = await stack.add('worker');
    const counts = { total: 351, slung: 349, refused: 2, skipped: 0 };
    expect(await ledger.ended(accepted)).toMatchObject({ type: 'request.result.sling.batch', payload: { status: 'partial', ...counts } });
    const { body: first } = await b.get(`${batch}?limit=300`);
    expect(first).toMatchObject({ status: 'partial', done: 351, finished_at: expect.any(String) });
    const { body: second } = await a.get(`${batch}?limit=300&cursor=${first.next_cursor}`);
    expect(second).not.toHaveProperty('next_cursor');
    const results = [...first.results, ...second.results] as { bead: string; status: string; changed?: boolean }[];
    expect(results.map((result) => result.bead)).toEqual([...beads, missing]);
    expect(results.filter((result) => result.changed === false).map((result) => result.bead)).toEqual([slung]);
    const { body: refused } = await b.get(`${batch}?status=refused`);
    expect(refused.results).toMatchObject([
      { bead: closed, code: 'conflict-wrong-state' },
      { bead: missing, code: 'sling-missing-bead' },
    ]);
    const made = 'select count(*)::int as n, count(distinct sling_source)::int as of from beads where sling_source is not null';
    expect(await sql(made)).toEqual([{ n: 349, of: 349 }]);
    expect((await a.post(`${batch}/cancel`)).status).toBe(409);
    const env = { SVC_API_URL: stack.urls[1]!, SVC_CITY: NAME };
    const byHand = await svc(['sling', 'agent-2', ...beads.slice(0, 201), '--no-convoy'], { env });
    expect([byHand.code, byHand.stdout.split('\n').filter((line) => / unchanged /.test(line)).length]).toEqual([0, 201]);
    expect(await endsOf(accepted)).toBe(1);
    await worker.stop();
  });

  it('is canceled once, and then no bead more is slung', async () => {
    const accepted = await a.post(`${city}/sling/batch`, {
      target: 'agent-3',
      beads: Array.from({ length: 201 }, (_, n) => `wi-${n + 460}`),
    });
    const batch = `${city}/sling/batch/${accepted.body.request_id}`;
    const canceled = await Promise.all([a.post(`${batch}/cancel`), b.post(`${batch}/cancel`)]);
    expect(canceled.map(({ status }) => status).sort()).toEqual([200, 202]);
    expect((await b.get(batch)).body).toMatchObject({ status: 'canceling', done: 0 });
    const worker = await stack.add('worker');
    expect(await ledger.ended(accepted)).toMatchObject({
      type: 'request.failed',
      payload: { operation: 'sling.batch', error_code: 'canceled', error_message: 'the batch was canceled; done so far: 0 of 201' },
    });
    expect((await a.get(batch)).body).toMatchObject({ status: 'canceled', slung: 0, results: [] });
    expect((await a.post(`${batch}/cancel`)).status).toBe(200);
    expect((await a.get(`${city}/sling/batch/req_none`)).body.code).toBe('sling-batch-not-found');
    expect(await sql(`select id from beads where metadata ->> 'gc.routed_to' = 'agent-3'`)).toEqual([]);
    expect(await endsOf(accepted)).toBe(1);
    await worker.stop();
  });
});
