import { Module } from '@nestjs/common';
import { SessionStoreModule } from '../session-store/session-store.module.js';
import { InteractionsRepository } from './interactions.repository.js';
import { Interactions } from './interactions.service.js';

/** Questions, for every family that puts or settles them. Every process that changes sessions has it. */
@Module({
  imports: [SessionStoreModule],
  providers: [Interactions, InteractionsRepository],
  exports: [Interactions, InteractionsRepository],
})
export class InteractionsCoreModule {}
