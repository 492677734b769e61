import { Module } from '@nestjs/common';
import { EventLogModule } from '../../../platform/event-log/event-log.module.js';
import { IdempotencyModule } from '../../../platform/idempotency/idempotency.module.js';
import { CitiesModule } from '../../tenancy/cities/cities.module.js';
import { SessionsCoreModule } from '../sessions/sessions-core.module.js';
import { InteractionsController } from './interactions.controller.js';
import { InteractionsCoreModule } from './interactions-core.module.js';
import { SupervisorPendingController } from './supervisor-pending.controller.js';
import { ResponsesService } from './responses.service.js';

/** Questions over HTTP. */
@Module({
  imports: [CitiesModule, EventLogModule, IdempotencyModule, InteractionsCoreModule, SessionsCoreModule],
  controllers: [InteractionsController, SupervisorPendingController],
  providers: [ResponsesService],
})
export class InteractionsModule {}
