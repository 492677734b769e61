import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { z } from 'zod';
import { adminAt, cloneDatabase, type TestDatabase } from '../../../test/support/database.js';
import { OperationProcess } from '../../../test/support/operation-process.js';
import { freePort, startRedis, type RedisServer } from '../../../test/support/redis.js';
import { eventually } from '../../../test/support/sse.js';
import { Metrics } from '../health/metrics.js';
import { Readiness } from '../health/readiness.js';
import type { OperationDefinition, OperationHandler } from '../operations/operation.js';
import type { OperationTimings } from '../operations/timings.js';
import { openConsumer } from './backend.js';
import { createDb, createPool } from '../database/database.js';
import { JobQueue, queueTarget } from './job-queue.js';
import { migrateQueue } from './migrate-queue.js';
import { QueueTimings } from './timings.js';

const Job: OperationDefinition = {
  kind: 'test.job',
  input: z.strictObject({}),
  succeeded: { type: 'request.result.test.job', version: 1, payload: z.strictObject({ request_id: z.string() }), about: 'It is done.' },
  deadlineMs: 20_000,
  maxAttempts: 3,
};
const handler: OperationHandler = { definition: Job, run: async () => ({ ok: true, payload: {} }) };

const QUEUE_ONLY = { sweepMs: 3_600_000 };
const SWEEPER = { sweepMs: 50, pickupMs: 50 };
/** A server that is away is given up soon and found again soon; one that answers has all the time it needs. */
const SOON = {
  addMs: 30_000,
  commandMs: 30_000,
  sampleMs: 30_000,
  openingMs: 50,
  closeProducerMs: 100,
  closeConsumerMs: 100,
  retryMs: 50,
  reconnectMs: 20,
  reconnectMaxMs: 50,
  reopenMs: 20,
  reopenMaxMs: 50,
};
/** For a server that hangs. */
const IMPATIENT = { addMs: 200, sampleMs: 200 };

describe('a queue whose server comes and goes', () => {
  let database: TestDatabase;
  let processes: OperationProcess[] = [];
  let redis: RedisServer | undefined;
  let redisUrl: string | undefined;
  let made = 0;

  const start = async (
    id: string,
    timings?: Partial<OperationTimings>,
    queueTimings?: Partial<QueueTimings>,
  ): Promise<OperationProcess> => {
    const handlers = timings === undefined ? undefined : [handler];
    const started = await OperationProcess.start({
      id,
      declared: [Job],
      databaseUrl: database.url,
      redisUrl,
      handlers,
      queueTimings: { ...SOON, ...queueTimings },
      ...(timings && { timings }),
    });
    processes.push(started);
    return started;
  };
  const accept = async (api: OperationProcess): Promise<string> => {
    const { requestId } = await api.transactions.run((tx) =>
      api.operations.accept(tx, Job, { target: `job-${++made}`, input: {}, eventCursor: '' }),
    );
    return requestId;
  };
  const ended = (api: OperationProcess, id: string): Promise<unknown> =>
    eventually(async () => {
      const row = await api.db.selectFrom('operations').select('state').where('id', '=', id).executeTakeFirstOrThrow();
      return row.state === 'succeeded';
    });
  const up = (process: OperationProcess): Promise<unknown> => eventually(async () => (await process.get(JobQueue).check()) === undefined);

  beforeAll(async () => {
    database = await cloneDatabase();
  });
  afterEach(async () => {
    if (redis !== undefined) process.kill(redis.pid, 'SIGCONT');
    await Promise.all(processes.map((p) => p.stop()));
    processes = [];
    await redis?.stop();
    redis = undefined;
  });
  afterAll(() => database.drop());

  it('waits for its schema on PostgreSQL and reconnects after its connections are killed', async () => {
    const mine = await cloneDatabase();
    const original = database;
    database = mine;
    try {
      redisUrl = undefined;
      // Before anybody is there who uses it.
      await adminAt(mine.url, 'drop schema if exists bullmq cascade');
      const api = await start('api');
      await start('w1', QUEUE_ONLY);
      expect(await api.get(JobQueue).check()).toBe('not connected to PostgreSQL');
      await Promise.all([migrateQueue(mine.url), migrateQueue(mine.url)]);
      await up(api);
      await ended(api, await accept(api));
      await adminAt(
        mine.url,
        'select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()',
      );
      await eventually(() => accept(api).then(() => true, () => undefined)); // prettier-ignore
      await ended(api, await eventually(() => accept(api).catch(() => undefined)));
    } finally {
      await Promise.all(processes.splice(0).map((p) => p.stop()));
      database = original;
      await mine.drop();
    }
  });

  // Guard: two databases called `svc` are two deployments.
  it('on one Redis is of one deployment, whatever its database is called', async () => {
    redis = await startRedis();
    redisUrl = redis.url;
    const other = await cloneDatabase();
    try {
      const [own, others] = await Promise.all(
        [database.url, other.url].map(async (url) => {
          const db = createDb(createPool(url));
          const named = 'postgres://svc@127.0.0.1/svc';
          try {
            return (await queueTarget({ redisUrl, databaseUrl: named, databaseListenUrl: undefined }, db)).prefix;
          } finally {
            await db.destroy();
          }
        }),
      );
      expect(own).toMatch(/^svc-[0-9a-f-]{36}$/);
      expect(others).not.toBe(own);
    } finally {
      await other.drop();
    }
    const api = await start('api');
    await start('w1', QUEUE_ONLY);
    await up(api);
    await ended(api, await accept(api));
  });

  // Guard: BullMQ asks again at once, whatever is wrong with a queue that answers.
  it('waits after each fetch that a queue refuses', async () => {
    const mine = await cloneDatabase();
    await migrateQueue(mine.url);
    /** When each was told of. */
    const errors: number[] = [];
    const target = { redisUrl: undefined, databaseUrl: mine.url, prefix: 'test' };
    const times = new QueueTimings({ ...SOON, retryMs: 1000 });
    const consumer = openConsumer(
      target,
      times,
      () => Promise.resolve(),
      1,
      () => errors.push(performance.now()),
    );
    try {
      await consumer.it.waitUntilReady();
      await adminAt(mine.url, 'drop schema bullmq cascade');
      void consumer.it.run().catch(() => undefined);
      await eventually(() => errors.length >= 3);
      // Long against a fetch on a slow machine. Timers may be a moment early, and are as late as they like.
      expect(errors[2]! - errors[1]!).toBeGreaterThan(900);
    } finally {
      await consumer.close(true);
      await mine.drop();
    }
  });

  it('answers within its limit while Redis hangs, and stops in time', async () => {
    redis = await startRedis();
    redisUrl = redis.url;
    const api = await start('api', undefined, IMPATIENT);
    await start('w1', SWEEPER);
    await up(api);
    process.kill(redis.pid, 'SIGSTOP');
    await ended(api, await accept(api));
    await expect(api.get(JobQueue).add('test.job', 'req-000000000000000000000abc')).rejects.toThrow();
    expect(await api.get(JobQueue).check()).toBeDefined();
    await Promise.all(processes.splice(0).map((p) => p.stop()));
  });

  it('starts without Redis, works by the sweeper, and uses the queue once it is there', async () => {
    const port = await freePort();
    redisUrl = `redis://127.0.0.1:${port}`;
    const api = await start('api');
    const worker = await start('w1', SWEEPER);
    expect(await api.get(Readiness).failures()).toEqual({ queue: 'not connected to Redis' });
    await ended(api, await accept(api));
    redis = await startRedis(port);
    await up(api);
    await worker.stop();
    processes = [api];
    await start('w2', QUEUE_ONLY);
    await ended(api, await accept(api));
    expect(await api.get(Readiness).failures()).toEqual({});
  });

  it('survives the death of Redis and goes on with its successor', async () => {
    redis = await startRedis();
    redisUrl = redis.url;
    const { port } = redis;
    const api = await start('api');
    const consumer = await start('w1', QUEUE_ONLY);
    await up(api);
    await ended(api, await accept(api));
    await redis.stop();
    const orphan = await accept(api);
    const sweeper = await start('w2', SWEEPER);
    await ended(api, orphan);
    await sweeper.stop();
    processes = [api, consumer];
    redis = await startRedis(port);
    await up(api);
    await ended(api, await accept(api));
  });

  it('loses every job and no operation when Redis is emptied', async () => {
    redis = await startRedis();
    redisUrl = redis.url;
    const api = await start('api');
    await up(api);
    const ids = await Promise.all(Array.from({ length: 10 }, () => accept(api)));
    const depth = (): Promise<string> => api.get(Metrics).registry.getSingleMetricAsString('svc_queue_depth');
    await eventually(async () => (await depth()).includes('svc_queue_depth{state="waiting"} 10'));
    expect(await api.get(Metrics).registry.getSingleMetricAsString('svc_operations')).toContain('svc_operations{state="accepted"} 10');
    const { Redis } = await import('ioredis');
    const client = new Redis(redis.url);
    await client.flushall();
    await client.quit();
    expect(await depth()).toContain('svc_queue_depth{state="waiting"} 0');
    await start('w1', SWEEPER);
    for (const id of ids) await ended(api, id);
    expect(await api.get(Metrics).registry.getSingleMetricAsString('svc_operations')).toContain('svc_operations{state="accepted"} 0');
  });
});
