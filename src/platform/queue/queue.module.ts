import { Module } from '@nestjs/common';
import { JobQueue } from './job-queue.js';
import { QueueTimings } from './timings.js';

/** The producer, for every process. The consumer (`JobWorker`) belongs to the operations' worker module. */
@Module({
  providers: [JobQueue, { provide: QueueTimings, useFactory: () => new QueueTimings() }],
  exports: [JobQueue, QueueTimings],
})
export class QueueModule {}
