import { Module } from '@nestjs/common';
import { SessionsCoreModule } from '../sessions/sessions-core.module.js';
import { InteractionsRepository } from './interactions.repository.js';
import { Interactions } from './interactions.service.js';

/** Questions, for every family that puts or settles them. Every process that changes sessions has it. */
@Module({
  imports: [SessionsCoreModule],
  providers: [Interactions, InteractionsRepository],
  exports: [Interactions, InteractionsRepository],
})
export class InteractionsCoreModule {}
