import { Module } from '@nestjs/common';
import { AppConfig } from '../config/config.js';
import { EventLogModule } from '../event-log/event-log.module.js';
import { IdempotencyModule } from '../idempotency/idempotency.module.js';
import { JobWorker } from '../queue/job-worker.js';
import { QueueModule } from '../queue/queue.module.js';
import { OperationEndings } from './endings.js';
import { OperationClaims } from './operation-claims.js';
import { OperationClaimsRepository } from './operation-claims.repository.js';
import { OperationWorker } from './operation-worker.js';
import { OperationsModule } from './operations.module.js';
import { OperationPurge } from './purge.js';
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
    OperationPurge,
    OperationClaims,
    OperationClaimsRepository,
    OperationEndings,
    JobWorker,
    {
      provide: OperationTimings,
      useFactory: ({ operationSlots, operationSlotsPerCity }: AppConfig) =>
        new OperationTimings({ concurrency: operationSlots, ...(operationSlotsPerCity && { perCity: operationSlotsPerCity }) }),
      inject: [AppConfig],
    },
  ],
})
export class OperationsWorkerModule {}
