import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { QUEUES, startStack, type Stack } from '../support/app.js';
import { DEEP } from '../support/depth.js';
import { adminAt } from '../support/database.js';
import { HoldingGate } from '../support/gate.js';
import { api, type Api } from '../support/http.js';
import { jobsOf, type Jobs } from '../support/jobs.js';
import { Ledger } from '../support/ledger.js';
import { startRedis, type RedisServer } from '../support/redis.js';
import { eventually } from '../support/sse.js';
import { spawnSupervisor } from '../support/supervisor-process.js';

/** The lease of every claimed operation runs out now, as it does some seconds after its worker has died. */
const EXPIRE_LEASES = "update operations set lease_until = clock_timestamp() where state = 'running'";

/**
 * The tests of one backend build on each other: no worker at first, then one, then two. At the end the ledger holds
 * everything accepted against the log and against a stream that was open all the time.
 */
describe.each(QUEUES)('accepted operations over a queue on %s', (queue) => {
  /** What does not depend on where the queue is, is asked on one backend; on both in the deep run. */
  const whole = DEEP || queue === QUEUES[0];
  const once: typeof it | undefined = whole ? it : undefined;
  let redis: RedisServer | undefined;
  let stack: Stack;
  let a: Api;
  let b: Api;
  let jobs: Jobs;
  let ledger: Ledger;

  beforeAll(async () => {
    redis = queue === 'redis' ? await startRedis() : undefined;
    stack = await startStack({ queue, workers: 0, config: { redisUrl: redis?.url } });
    [a, b] = stack.urls.map((url) => api(url)) as [Api, Api];
    jobs = jobsOf(stack.databaseUrl, redis?.url);
    ledger = await Ledger.open(stack);
  });
  afterAll(async () => {
    await ledger?.stream.close();
    await stack?.stop();
    await redis?.stop();
  });

  const sql = <R extends object>(text: string, values: unknown[] = []): Promise<R[]> =>
    adminAt<R & Record<string, unknown>>(stack.databaseUrl, text, values);
  const create = (name: string) => a.post('/v0/city', { dir: name, provider: 'loopback' });
  const states = async (ids: string[]): Promise<string[]> =>
    (await sql<{ state: string }>('select state from operations where id = any($1) order by array_position($1, id)', [ids])).map(
      (r) => r.state,
    );
  const terminals = async (ids: string[]): Promise<number> =>
    (await sql<{ n: number }>("select count(*)::int as n from events where payload ->> 'request_id' = any($1)", [ids]))[0]!.n;

  /** A worker process that ends by SIGKILL at the first operation that comes to `failpoint`. */
  const workerKilledAt = async (failpoint: string): Promise<void> => {
    const { databaseUrl, config } = stack;
    const worker = spawnSupervisor({
      SVC_ROLE: 'worker',
      SVC_DATABASE_URL: databaseUrl,
      SVC_DATA_DIR: config.dataDir,
      SVC_PROVIDER_CHECK: 'off',
      SVC_TEST_FAILPOINTS: `${failpoint}=kill`,
      ...(redis === undefined ? {} : { SVC_REDIS_URL: redis.url }),
    });
    const { signal } = await worker.exited;
    expect({ signal, output: worker.output() }).toMatchObject({ signal: 'SIGKILL' });
  };

  // Guards: the lease in the claim's condition (an operation in nobody's hands is found again) and the one transaction of ending and event.
  once?.('ends what its worker did not finish, and does not repeat what its worker could only not acknowledge', async () => {
    const first = ledger.accept(await create('killed-before'));
    await workerKilledAt('operation.before_finish');
    expect([await states([first]), await terminals([first])]).toEqual([['running'], 0]);
    await sql(EXPIRE_LEASES);
    await workerKilledAt('operation.after_finish');
    expect([await states([first]), await terminals([first])]).toEqual([['succeeded'], 1]);
    await sql(EXPIRE_LEASES);
  });

  // Guard: the sweeper reads the rows; the queue may lose everything.
  it('ends what the queue has lost after the 202', async () => {
    const accepted = [];
    for (const name of ['one', 'two', 'three', 'four']) accepted.push(ledger.accept(await create(name)));
    await jobs.lose();
    expect(await states(accepted)).toEqual(Array(4).fill('accepted'));
    await stack.add('worker');
    for (const id of accepted) expect(await ledger.ended(id)).toMatchObject({ type: 'request.result.city.create' });
  });

  // Guard: state and fence in the condition of the ending.
  once?.('lets a worker that was frozen between act and finish find that others have ended its work', async () => {
    await ledger.succeeded(await b.post('/v0/city/three/stop'), 'request.result.city.stop');
    const gate = new HoldingGate();
    stack.failpoints.at(-1)!.arm('operation.before_finish', gate.action(4));
    const replies = [
      await create('five'),
      await b.post('/v0/city/two/stop'),
      await a.post('/v0/city/three/start'),
      await b.post('/v0/city/four/unregister'),
    ];
    const ids = replies.map((reply) => ledger.accept(reply));
    await eventually(() => gate.held === 4);
    expect(await terminals(ids)).toBe(0);
    await stack.add('worker');
    await eventually(async () => {
      // Who waits at the gate is not frozen for his clock: he may renew a lease before others have seen that it ran out.
      await sql(`${EXPIRE_LEASES} and id = any($1) and attempts = 1`, [ids]);
      return (await sql('select from operations where id = any($1) and attempts = 1', [ids])).length === 0;
    });
    for (const [i, kind] of ['create', 'stop', 'start', 'unregister'].entries()) {
      expect(await ledger.ended(ids[i]!)).toMatchObject({ type: `request.result.city.${kind}` });
    }
    gate.release();
    await eventually(async () => (await a.get('/v0/city/one')).status === 200);
    expect(await terminals(ids)).toBe(4);
  });

  // Guard: the claim's condition, which one of many deliveries meets.
  it('runs an operation once that is delivered many times to two workers', async () => {
    if (!whole) {
      await ledger.succeeded(await create('five'), 'request.result.city.create');
      await stack.add('worker');
    }
    const gate = new HoldingGate();
    for (const worker of stack.failpoints.slice(2)) worker.arm('operation.after_claim', gate.action());
    const replies = [await create('six'), await b.post('/v0/city/one/stop'), await a.post('/v0/city/five/unregister')];
    const ids = replies.map((reply) => ledger.accept(reply));
    await Promise.all(ids.map((id, i) => jobs.duplicate(['city.create', 'city.stop', 'city.unregister'][i]!, id, 10)));
    await eventually(() => gate.held >= 3);
    gate.release();
    await Promise.all(ids.map((id) => ledger.ended(id)));
    await Promise.all(ids.map((id, i) => jobs.duplicate(['city.create', 'city.stop', 'city.unregister'][i]!, id, 5)));
    for (const worker of stack.failpoints.slice(2)) worker.disarm();
    const rows = await sql<{ attempts: number }>('select attempts from operations where id = any($1)', [ids]);
    expect(rows.map((r) => Number(r.attempts))).toEqual([1, 1, 1]);
    // The queue works in order of arrival: once this one has ended, the repeats have been handed out.
    await ledger.succeeded(await create('seven'), 'request.result.city.create');
    expect(await terminals(ids)).toBe(3);
  });

  // Guard: nobody waits for the queue after the commit, and the sweeper needs none.
  it('accepts while the queue is away, ends it all the same, and goes on with a new queue', async () => {
    if (redis === undefined) {
      const refuse = (): never => {
        throw new Error('the queue is away');
      };
      for (const failpoints of stack.failpoints.slice(0, 2)) failpoints.arm('queue.before_enqueue', refuse);
    } else await redis.stop();
    const replies = await Promise.all([create('eight'), b.post('/v0/city/seven/stop'), a.post('/v0/city/six/unregister')]);
    await Promise.all(replies.map((reply) => ledger.ended(reply)));
    if (redis !== undefined) redis = await startRedis(redis.port);
    for (const failpoints of stack.failpoints) failpoints.disarm();
    await ledger.succeeded(await b.post('/v0/city/seven/start'), 'request.result.city.start');
  });

  // Guards: the deadline in the sweeper's condition, and again state and fence for the worker that comes late.
  once?.('fails at the deadline, whatever its worker still does, and an explicit start tries again', async () => {
    const gate = new HoldingGate();
    for (const worker of stack.failpoints.slice(2)) worker.arm('operation.after_phase', gate.action());
    const id = ledger.accept(await create('late'));
    await eventually(() => gate.held === 1);
    await sql('update operations set deadline_at = clock_timestamp() where id = $1', [id]);
    const failed = await ledger.ended(id);
    expect(failed).toMatchObject({
      type: 'request.failed',
      subject: 'late',
      payload: { operation: 'city.create', error_code: 'timeout' },
    });
    // The keeper has looked at it, and leaves it alone until its back-off is over.
    await eventually(async () => (await sql("select from cities where name = 'late' and config_hash is not null")).length === 1);
    const { body } = await b.get('/v0/cities');
    const late = body.items.find((city: { name: string }) => city.name === 'late');
    expect(late).toMatchObject({ running: false, status: 'init_failed', error_code: 'timeout', failure_class: 'transient' });
    expect(gate.held).toBe(1);
    for (const worker of stack.failpoints.slice(2)) worker.disarm();
    gate.release();
    await ledger.succeeded(await a.post('/v0/city/late/start'), 'request.result.city.start');
    expect((await b.get('/v0/city/late')).status).toBe(200);
    expect(await terminals([id])).toBe(1);
  });

  it('has ended everything with one terminal event, in the log and on the stream', async () => {
    await ledger.settle();
  });
});
