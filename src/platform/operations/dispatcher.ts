import { Injectable } from '@nestjs/common';
import { Failpoints } from '../failpoints/failpoints.js';
import { Lifecycle } from '../health/lifecycle.js';
import { Metrics } from '../health/metrics.js';
import { AppLogger } from '../logging/logger.js';
import { JobQueue } from '../queue/job-queue.js';

/**
 * Tells the queue about accepted operations after their commit. Nobody waits for it: a failure costs the second
 * or two until a sweeper finds the operation in the database.
 */
@Injectable()
export class OperationDispatcher {
  readonly #inFlight = new Set<Promise<void>>();
  readonly #failures;

  constructor(
    private readonly queue: JobQueue,
    private readonly failpoints: Failpoints,
    private readonly log: AppLogger,
    lifecycle: Lifecycle,
    metrics: Metrics,
  ) {
    this.#failures = metrics.counter({
      name: 'svc_operation_dispatch_failures_total',
      help: 'Accepted operations that could not be put into the queue and were left to the sweeper.',
    });
    lifecycle.onStop('worker', 'operation dispatch', async () => void (await Promise.all(this.#inFlight)));
  }

  dispatch(kind: string, id: string): void {
    const work = this.#dispatch(kind, id).finally(() => this.#inFlight.delete(work));
    this.#inFlight.add(work);
  }

  async #dispatch(kind: string, id: string): Promise<void> {
    try {
      await this.failpoints.hit('queue.before_enqueue');
      await this.queue.add(kind, id);
      await this.failpoints.hit('queue.after_enqueue');
    } catch (error) {
      this.#failures.inc();
      this.log.debug({ err: error, request_id: id, kind }, 'operation not put into the queue; the sweeper will take it');
    }
  }
}
