import { Module } from '@nestjs/common';
import { OperationsModule } from '../../platform/operations/operations.module.js';
import { SessionsCoreModule } from '../sessions/sessions-core.module.js';
import { MessageQueueRepository } from './message-queue.repository.js';
import { MessageQueue } from './message-queue.service.js';

/** The queue, for every family that sends or delivers messages. Every process that changes sessions has it. */
@Module({
  imports: [OperationsModule, SessionsCoreModule],
  providers: [MessageQueue, MessageQueueRepository],
  exports: [MessageQueue, MessageQueueRepository],
})
export class MessagesCoreModule {}
