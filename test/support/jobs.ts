import { createPostgresBackend, Queue, withBackend } from 'bullmq';
import { Redis } from 'ioredis';
import { createDb, createPool, withSettings } from '../../src/platform/database/database.js';
import { queueTarget } from '../../src/platform/queue/job-queue.js';
import { adminAt } from './database.js';

const NAME = 'operations';

export interface Jobs {
  /** Puts jobs for one operation into the queue, as a queue that delivers more than once would. */
  duplicate(kind: string, id: string, times: number): Promise<void>;
  /** Everything the queue holds is lost; on Redis everything of every installation. */
  lose(): Promise<void>;
}

async function prefixOf(databaseUrl: string): Promise<string> {
  const db = createDb(createPool(databaseUrl, { max: 1 }));
  try {
    return (await queueTarget({ redisUrl: 'redis://', databaseUrl, databaseListenUrl: undefined }, db)).prefix;
  } finally {
    await db.destroy();
  }
}

/** The queue of an installation behind its back. */
export function jobsOf(databaseUrl: string, redisUrl: string | undefined): Jobs {
  const within = async (work: (queue: Queue) => Promise<unknown>): Promise<void> => {
    const queue =
      redisUrl === undefined
        ? (new (withBackend(createPostgresBackend).Queue)(NAME, {
            connection: { ...withSettings(databaseUrl, ''), max: 1 },
          }) as unknown as Queue)
        : new Queue(NAME, { connection: { url: redisUrl }, prefix: await prefixOf(databaseUrl) });
    queue.on('error', () => undefined);
    try {
      await queue.waitUntilReady();
      await work(queue);
    } finally {
      await queue.close();
    }
  };
  const flush = async (url: string): Promise<void> => {
    const redis = new Redis(url);
    await redis.flushall();
    await redis.quit();
  };
  return {
    duplicate: (kind, id, times) =>
      within((queue) =>
        Promise.all(
          Array.from({ length: times }, (_, n) => queue.add(kind, { id }, { jobId: `${id}-again-${n}`, removeOnComplete: true })),
        ),
      ),
    lose: () => (redisUrl === undefined ? adminAt(databaseUrl, 'truncate bullmq.job cascade').then(() => undefined) : flush(redisUrl)),
  };
}
