import { Module } from '@nestjs/common';
import { IdempotencyModule } from '../../../platform/idempotency/idempotency.module.js';
import { OperationsModule } from '../../../platform/operations/operations.module.js';
import { CitiesModule } from '../../tenancy/cities/cities.module.js';
import { LaunchModule } from '../launch/launch.module.js';
import { SessionNamesModule } from '../session-names/session-names.module.js';
import { MessageListService } from './message-list.service.js';
import { MessagesController } from './messages.controller.js';
import { MessagesCoreModule } from './messages-core.module.js';
import { MessagesService } from './messages.service.js';

/** Messages over HTTP. */
@Module({
  imports: [CitiesModule, IdempotencyModule, MessagesCoreModule, OperationsModule, SessionNamesModule, LaunchModule],
  controllers: [MessagesController],
  providers: [MessageListService, MessagesService],
})
export class MessagesModule {}
