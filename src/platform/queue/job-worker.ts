import { Injectable } from '@nestjs/common';
import { AppConfig } from '../config/config.js';
import { Db } from '../database/database.js';
import { AppLogger } from '../logging/logger.js';
import { openConsumer, type Consumer, type Opened, type Process } from './backend.js';
import { KeptOpen } from './connection.js';
import { queueTarget } from './job-queue.js';
import { QueueTimings } from './timings.js';

/**
 * The consuming half of the queue room; worker processes have one. A job may arrive twice or never: whoever
 * handles ids must find out from its own records whether there is something to do.
 */
@Injectable()
export class JobWorker {
  #kept: KeptOpen<Consumer> | undefined;

  constructor(
    private readonly config: AppConfig,
    private readonly db: Db,
    private readonly log: AppLogger,
    private readonly times: QueueTimings,
  ) {}

  /** Begins to take jobs, at most `concurrency` at a time. `handle` must not throw: nothing retries a job. */
  start(concurrency: number, handle: (id: string) => Promise<void>): void {
    if (this.#kept !== undefined) throw new Error('the job worker is already started');
    const log = this.log.child('queue');
    const process: Process = (job) => handle(job.data.id);
    const { config, db, times } = this;
    const open = async (onError: (error: Error) => void): Promise<Opened<Consumer>> =>
      openConsumer(await queueTarget(config, db), times, process, concurrency, onError);
    const kept = new KeptOpen<Consumer>('consumer', open, times, log);
    this.#kept = kept;
    kept.open((worker) => void worker.run().catch((error: unknown) => kept.report(error)));
  }

  /** Takes no more jobs and waits for those in hand; with `force` it does not wait. */
  async close(force = false): Promise<void> {
    await this.#kept?.close(force);
  }
}
