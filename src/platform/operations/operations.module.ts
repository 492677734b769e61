import { Module } from '@nestjs/common';
import { QueueModule } from '../queue/queue.module.js';
import { OperationDispatcher } from './dispatcher.js';
import { OperationMetrics } from './operation-metrics.js';
import { Operations } from './operations.js';
import { OperationsRepository } from './operations.repository.js';
import { DeclaredKinds, OperationRegistry } from './registry.js';

/** The accepting half, for every process: families import it to accept operations and to register handlers. */
@Module({
  imports: [QueueModule],
  providers: [Operations, OperationMetrics, OperationDispatcher, OperationsRepository, OperationRegistry, DeclaredKinds],
  exports: [Operations, OperationMetrics, OperationDispatcher, OperationsRepository, OperationRegistry],
})
export class OperationsModule {}
