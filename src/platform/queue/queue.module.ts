import { Module } from '@nestjs/common';
import { JobQueue } from './job-queue.js';

/** The producer, for every process. The consumer (`JobWorker`) belongs to the operations' worker module. */
@Module({ providers: [JobQueue], exports: [JobQueue] })
export class QueueModule {}
