import { Injectable, type OnModuleInit } from '@nestjs/common';
import { sql } from 'kysely';
import type { Gauge } from 'prom-client';
import { AppConfig } from '../config/config.js';
import { pastPooler } from '../config/database-address.js';
import { Db } from '../database/database.js';
import { Lifecycle } from '../health/lifecycle.js';
import { Metrics } from '../health/metrics.js';
import { Readiness } from '../health/readiness.js';
import { AppLogger } from '../logging/logger.js';
import { openProducer, type Opened, type Producer, type QueueTarget } from './backend.js';
import { KeptOpen } from './connection.js';
import { QueueTimings } from './timings.js';

/**
 * What is of one deployment is part of the prefix: two on one Redis must not take each other's jobs, and their databases may have the same
 * name. Its id is the same whatever the address says, past a pooler and after a fail-over.
 */
export async function queueTarget(config: Pick<AppConfig, 'redisUrl' | 'databaseUrl' | 'databaseListenUrl'>, db: Db): Promise<QueueTarget> {
  const { redisUrl, databaseUrl } = config;
  // BullMQ listens on PostgreSQL, too.
  const target = { redisUrl, databaseUrl: pastPooler(config, databaseUrl), prefix: 'svc' };
  if (redisUrl === undefined) return target;
  const { rows } = await sql<{ id: string }>`select deployment_id()::text as id`.execute(db);
  return { ...target, prefix: `svc-${rows[0]!.id}` };
}

/**
 * The producing half of the queue room; every process has one. It promises to answer within a second, up or down,
 * and to keep trying to connect in the background. It knows no table: a job is a name and an id.
 */
@Injectable()
export class JobQueue implements OnModuleInit {
  readonly #kept: KeptOpen<Producer>;
  readonly #where: string;

  constructor(
    config: AppConfig,
    db: Db,
    log: AppLogger,
    lifecycle: Lifecycle,
    readiness: Readiness,
    metrics: Metrics,
    private readonly times: QueueTimings,
  ) {
    this.#where = config.redisUrl === undefined ? 'PostgreSQL' : 'Redis';
    const open = async (onError: (error: Error) => void): Promise<Opened<Producer>> =>
      openProducer(await queueTarget(config, db), times, onError);
    this.#kept = new KeptOpen('producer', open, times, log.child('queue'));
    lifecycle.onStop('queue', 'job queue', () => this.#kept.close());
    readiness.register('queue', () => this.check());
    const depth: Gauge<'state'> = metrics.gauge({
      name: 'svc_queue_depth',
      help: 'Jobs in the queue, by state; -1 while the queue does not answer.',
      labelNames: ['state'],
      collect: async (): Promise<void> => {
        const counts = await this.#counts();
        for (const state of ['waiting', 'active'] as const) depth.set({ state }, counts?.[state] ?? -1);
      },
    });
  }

  onModuleInit(): void {
    this.#kept.open();
  }

  /**
   * Adds a job named `name` for the operation `id`; adding an id that is still queued changes nothing.
   *
   * @throws Error when the queue is away or does not answer within a second. The job may exist nevertheless.
   */
  async add(name: string, id: string): Promise<void> {
    const queue = this.#kept.live;
    if (queue === undefined) throw new Error('the queue is not connected');
    await within(queue.add(name, { id }, { jobId: id }), this.times.addMs, 'the queue did not answer');
  }

  /** Undefined when jobs can be added now, otherwise why not. */
  async check(): Promise<string | undefined> {
    if (this.#kept.live === undefined) return `not connected to ${this.#where}`;
    return (await this.#counts()) === undefined ? `no answer from ${this.#where}` : undefined;
  }

  async #counts(): Promise<Record<string, number> | undefined> {
    const queue = this.#kept.live;
    if (queue === undefined) return undefined;
    return within(jobCounts(queue), this.times.sampleMs, 'no answer').catch(() => undefined);
  }
}

async function jobCounts(queue: Producer): Promise<Record<string, number>> {
  const [waiting, active] = await Promise.all([queue.getJobCountByTypes('waiting'), queue.getJobCountByTypes('active')]);
  return { waiting, active };
}

async function within<T>(work: Promise<T>, ms: number, message: string): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => (timer = setTimeout(() => reject(new Error(message)), ms)));
  try {
    return await Promise.race([work, late]);
  } finally {
    clearTimeout(timer);
    work.catch(() => undefined); // the loser of the race must not become an unhandled rejection
  }
}
