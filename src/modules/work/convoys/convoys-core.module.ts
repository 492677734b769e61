import { Module } from '@nestjs/common';
import { IdempotencyModule } from '../../../platform/idempotency/idempotency.module.js';
import { WorkModule } from '../work/work.module.js';
import { ConvoysRepository } from './convoys.repository.js';
import { ConvoysService } from './convoys.service.js';

/** What changes convoys, for whoever makes convoys of its own. */
@Module({
  imports: [IdempotencyModule, WorkModule],
  providers: [ConvoysRepository, ConvoysService],
  exports: [ConvoysRepository, ConvoysService],
})
export class ConvoysCoreModule {}
