import { AsyncLocalStorage } from 'node:async_hooks';
import { Injectable } from '@nestjs/common';
import { Failpoints } from '../failpoints/failpoints.js';
import { Lifecycle } from '../health/lifecycle.js';
import { Metrics } from '../health/metrics.js';
import { AppLogger } from '../logging/logger.js';
import { JobQueue } from '../queue/job-queue.js';

/** Runs operations in this process. */
export interface LocalRunner {
  /** Takes a free place and runs what waits. Answers at once with the id of the first operation; undefined where it took none. Never throws. */
  begin(): Promise<string | undefined>;
}

/**
 * Says after the commit that an operation waits. The runner of this process takes it where it may; else it goes into the queue, for all workers.
 * No request waits for that: a failure costs the second or two until a sweeper finds the operation in the database.
 */
@Injectable()
export class OperationDispatcher {
  readonly #inFlight = new Set<Promise<void>>();
  #local: LocalRunner | undefined;
  /** Runs something outside of the request that has accepted it: what an operation writes belongs to no record of a request. */
  readonly #outside = AsyncLocalStorage.snapshot();
  readonly #failures;

  constructor(
    private readonly queue: JobQueue,
    private readonly failpoints: Failpoints,
    private readonly log: AppLogger,
    private readonly lifecycle: Lifecycle,
    metrics: Metrics,
  ) {
    this.#failures = metrics.counter({
      name: 'svc_operation_dispatch_failures_total',
      help: 'Accepted operations that could not be put into the queue and were left to the sweeper.',
    });
    lifecycle.onStop('worker', 'operation dispatch', async () => void (await Promise.all(this.#inFlight)));
  }

  /** From now on this process takes operations itself: a job for one that it would take anyway costs both ways through the queue. */
  serveWith(runner: LocalRunner): void {
    this.#local = runner;
  }

  dispatch(kind: string, id: string): void {
    const work = this.#outside(() => this.#dispatch(kind, id)).finally(() => this.#inFlight.delete(work));
    this.#inFlight.add(work);
  }

  async #dispatch(kind: string, id: string): Promise<void> {
    try {
      // A process that stops would put back what it takes: others may have it.
      if (!this.lifecycle.stopping && (await this.#local?.begin()) === id) return;
      await this.failpoints.hit('queue.before_enqueue');
      await this.queue.add(kind, id);
      await this.failpoints.hit('queue.after_enqueue');
    } catch (error) {
      this.#failures.inc();
      this.log.debug({ err: error, request_id: id, kind }, 'operation not put into the queue; the sweeper will take it');
    }
  }
}
