import { Module } from '@nestjs/common';
import { IdempotencyModule } from '../../../platform/idempotency/idempotency.module.js';
import { CitiesModule } from '../../tenancy/cities/cities.module.js';
import { SessionsCoreModule } from '../sessions/sessions-core.module.js';
import { InteractionsController } from './interactions.controller.js';
import { InteractionsCoreModule } from './interactions-core.module.js';
import { ResponsesService } from './responses.service.js';

/** Questions over HTTP. */
@Module({
  imports: [CitiesModule, IdempotencyModule, InteractionsCoreModule, SessionsCoreModule],
  controllers: [InteractionsController],
  providers: [ResponsesService],
})
export class InteractionsModule {}
