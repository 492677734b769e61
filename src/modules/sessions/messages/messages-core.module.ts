import { Module } from '@nestjs/common';
import { OperationsModule } from '../../../platform/operations/operations.module.js';
import { SessionStoreModule } from '../session-store/session-store.module.js';
import { MessageQueueRepository } from './message-queue.repository.js';
import { MessageQueue } from './message-queue.service.js';

/** The queue, for every family that sends or delivers messages. Every process that changes sessions has it. */
@Module({
  imports: [OperationsModule, SessionStoreModule],
  providers: [MessageQueue, MessageQueueRepository],
  exports: [MessageQueue, MessageQueueRepository],
})
export class MessagesCoreModule {}
