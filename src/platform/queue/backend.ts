import { createPostgresBackend, Queue, withBackend, Worker } from 'bullmq';
import { Redis, type RedisOptions } from 'ioredis';
import pg from 'pg';
import { KEEP_ALIVE_MS, withSettings } from '../database/database.js';
import { HangingConnections } from '../database/hanging.js';
import { clientOf, serversOf } from '../database/servers.js';
import { sleep } from '../time/clock.js';
import { doubled } from '../time/doubled.js';
import type { QueueTimings } from './timings.js';

/**
 * The only file that knows which of BullMQ's backends is in use. Jobs carry an id and nothing else: losing every
 * job of the queue costs latency, never work, because the truth is the operation's row.
 */
export interface QueueTarget {
  readonly redisUrl: string | undefined;
  readonly databaseUrl: string | undefined;
  /** Redis keys begin with it; on PostgreSQL the database itself separates installations. */
  readonly prefix: string;
}

/** What every job of the project carries. */
export interface JobData {
  readonly id: string;
}

/** A producer or a consumer with the connection it owns. `close` ends both. */
export interface Opened<T> {
  readonly it: T;
  /** Whether a command sent now has a live connection to travel on. */
  connected(): boolean;
  close(force?: boolean): Promise<void>;
}

/** What the project uses of a BullMQ queue, whichever the backend. */
export interface Producer {
  add(name: string, data: JobData, options: { jobId: string }): Promise<unknown>;
  getJobCountByTypes(...states: ('waiting' | 'active')[]): Promise<number>;
  waitUntilReady(): Promise<unknown>;
}
/** What the project uses of a BullMQ worker, whichever the backend. */
export interface Consumer {
  run(): Promise<void>;
  waitUntilReady(): Promise<unknown>;
}
export type Process = (job: { data: JobData }) => Promise<void>;
type OnError = (error: Error) => void;

const Postgres = withBackend(createPostgresBackend);
const QUEUE_NAME = 'operations';
/** A finished or failed job is of no interest: the row tells how the operation ended. */
const JOB_OPTIONS = { removeOnComplete: true, removeOnFail: true, attempts: 1 } as const;

export function openProducer(target: QueueTarget, times: QueueTimings, onError: OnError): Opened<Producer> {
  if (target.redisUrl === undefined) {
    const pool = poolFor(target, times, { max: 2, statementMs: times.commandMs });
    const queue = new Postgres.Queue<JobData>(QUEUE_NAME, { connection: pool, defaultJobOptions: JOB_OPTIONS });
    queue.on('error', onError);
    return { it: queue, connected: () => true, close: () => ended(queue.close(), pool) };
  }
  // Without an offline queue a command fails at once while Redis is away, instead of piling up in memory.
  const redis = openRedis(target.redisUrl, times, onError, {
    enableOfflineQueue: false,
    maxRetriesPerRequest: 1,
    commandTimeout: times.commandMs,
  });
  const queue = new Queue<JobData>(QUEUE_NAME, {
    connection: redis,
    prefix: target.prefix,
    defaultJobOptions: JOB_OPTIONS,
    streams: { events: { maxLen: 100 } },
  });
  queue.on('error', onError);
  return {
    it: queue,
    connected: () => redis.status === 'ready',
    close: async () => {
      await atMost(queue.close().catch(onError), times.closeProducerMs);
      redis.disconnect();
    },
  };
}

export function openConsumer(
  target: QueueTarget,
  times: QueueTimings,
  process: Process,
  concurrency: number,
  onError: OnError,
): Opened<Consumer> {
  const kept = { removeOnComplete: { count: 0 }, removeOnFail: { count: 0 } };
  const options = { concurrency, autorun: false, runRetryDelay: times.retryMs, ...kept };
  if (target.redisUrl === undefined) {
    // One of them listens.
    const pool = poolFor(target, times, { max: 5, statementMs: 10_000 });
    const worker = new Postgres.Worker<JobData>(QUEUE_NAME, process, { ...options, connection: pool });
    worker.on('error', onError);
    const unpaced = paced(worker, times.retryMs);
    const close = (force?: boolean): Promise<void> => {
      unpaced();
      return ended(worker.close(force), pool);
    };
    return { it: worker, connected: () => true, close };
  }
  const redis = openRedis(target.redisUrl, times, onError, { maxRetriesPerRequest: null });
  const worker = new Worker<JobData>(QUEUE_NAME, process, { ...options, connection: redis, prefix: target.prefix });
  worker.on('error', onError);
  const unpaced = paced(worker, times.retryMs);
  return {
    it: worker,
    connected: () => redis.status === 'ready',
    close: async (force) => {
      unpaced();
      await atMost(worker.close(force).catch(onError), times.closeConsumerMs);
      redis.disconnect();
    },
  };
}

/**
 * Has a worker wait after each fetch that fails. BullMQ waits where nobody answers, and asks again at once whatever else is wrong: a Redis
 * that is full or read-only, a server that recovers (800 fetches a second). Answers how to wait no more.
 */
function paced(worker: object, ms: number): () => void {
  const closed = new AbortController();
  const fetching = worker as { moveToActive: (...asked: readonly unknown[]) => Promise<unknown> };
  const fetch = fetching.moveToActive.bind(worker);
  fetching.moveToActive = async (...asked) => {
    try {
      return await fetch(...asked);
    } catch (error) {
      await sleep(ms, closed.signal);
      throw error;
    }
  };
  return () => closed.abort();
}

/** Closes the pool after whoever uses it, however that has ended. */
async function ended(closing: Promise<void>, pool: pg.Pool): Promise<void> {
  try {
    await closing;
  } finally {
    await pool.end();
  }
}

async function atMost(work: Promise<void>, ms: number): Promise<void> {
  const done = new AbortController();
  await Promise.race([work, sleep(ms, done.signal)]);
  done.abort();
}

function openRedis(url: string, times: QueueTimings, onError: OnError, options: RedisOptions): Redis {
  const redis = new Redis(url, {
    connectTimeout: times.connectMs,
    retryStrategy: (attempt) => doubled(attempt, times.reconnectMs, times.reconnectMaxMs),
    ...options,
  });
  redis.on('error', onError);
  return redis;
}

/**
 * For BullMQ, which would make a client of its own to listen with, and look after its errors only once it is connected: a server that is
 * shut down just then would end this process.
 */
function poolFor(target: QueueTarget, times: QueueTimings, limits: { max: number; statementMs: number }): pg.Pool {
  if (target.databaseUrl === undefined) throw new Error('the queue needs a database or a Redis address');
  const servers = serversOf(target.databaseUrl);
  const settings = {
    statement_timeout: limits.statementMs,
    lock_timeout: times.commandMs,
    idle_in_transaction_session_timeout: 10_000,
  };
  const said = Object.entries(settings).map(([name, value]) => `-c ${name}=${value}`);
  const { connectionString, options } = withSettings(servers.addresses[0]!, said.join(' '));
  const config = {
    connectionString,
    // BullMQ's statements name no schema: this counts whatever the address says, and of two settings the server takes the last.
    options: `${options} -c search_path=bullmq`,
    connectionTimeoutMillis: times.connectMs,
    keepAlive: true,
    keepAliveInitialDelayMillis: KEEP_ALIVE_MS,
    application_name: 'svc-queue',
  };
  const pool = new pg.Pool({
    ...config,
    Client: new HangingConnections(config, servers).watching(servers.many ? clientOf(servers) : pg.Client),
    max: limits.max,
    idleTimeoutMillis: 30_000,
  });
  // BullMQ tells of them. Without a listener, as after it has ended, they would end the process.
  return pool.on('error', () => undefined);
}
