import { Injectable, type OnApplicationBootstrap } from '@nestjs/common';
import { Lifecycle } from '../health/lifecycle.js';
import { JobWorker } from '../queue/job-worker.js';
import { OperationDispatcher } from './dispatcher.js';
import { OperationRegistry } from './registry.js';
import { OperationRunner } from './runner.js';
import { OperationSweeper } from './sweeper.js';
import { OperationTimings } from './timings.js';

/** Starts and stops the working half of the room. Starts after every module has registered its handlers. */
@Injectable()
export class OperationWorker implements OnApplicationBootstrap {
  constructor(
    private readonly registry: OperationRegistry,
    private readonly jobs: JobWorker,
    private readonly dispatcher: OperationDispatcher,
    private readonly runner: OperationRunner,
    private readonly sweeper: OperationSweeper,
    private readonly timings: OperationTimings,
    private readonly lifecycle: Lifecycle,
  ) {}

  /** @throws Error when a declared operation has no handler: the process must not start. */
  onApplicationBootstrap(): void {
    this.registry.requireComplete();
    this.lifecycle.onStop('worker', 'operations', () => this.stop());
    this.jobs.start(this.timings.concurrency, () => this.runner.deliver());
    this.dispatcher.serveWith(this.runner);
    this.sweeper.start();
  }

  /** Takes nothing more, then ends or puts back what is running. */
  async stop(): Promise<void> {
    await Promise.all([this.jobs.close(), this.sweeper.stop(), this.runner.stop()]);
    await this.runner.stop(); // what the last sweep claimed while the runner was already idle
  }
}
