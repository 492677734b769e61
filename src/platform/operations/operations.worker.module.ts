import { Module } from '@nestjs/common';
import { EventLogModule } from '../event-log/event-log.module.js';
import { IdempotencyModule } from '../idempotency/idempotency.module.js';
import { JobWorker } from '../queue/job-worker.js';
import { QueueModule } from '../queue/queue.module.js';
import { OperationEndings } from './endings.js';
import { OperationWorker } from './operation-worker.js';
import { OperationsModule } from './operations.module.js';
import { OperationRunner } from './runner.js';
import { OperationSweeper } from './sweeper.js';
import { OperationTimings } from './timings.js';

/** The working half: imported once, by the worker's root module. Families do not import it. */
@Module({
  imports: [OperationsModule, QueueModule, EventLogModule, IdempotencyModule],
  providers: [
    OperationWorker,
    OperationRunner,
    OperationSweeper,
    OperationEndings,
    JobWorker,
    { provide: OperationTimings, useFactory: () => new OperationTimings() },
  ],
})
export class OperationsWorkerModule {}
