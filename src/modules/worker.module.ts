import { Module } from '@nestjs/common';

/** What a worker process does: handlers of operations, reconcile loops, sweepers. Composition only. */
@Module({ imports: [] })
export class WorkerModule {}
