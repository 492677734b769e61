import { Module } from '@nestjs/common';
import { IdempotencyModule } from '../../../platform/idempotency/idempotency.module.js';
import { CitiesModule } from '../../tenancy/cities/cities.module.js';
import { Rehearsal } from './rehearsal.js';
import { SlingBatchService } from './sling-batch.service.js';
import { SlingBatches } from './sling-batches.service.js';
import { SlingCoreModule } from './sling-core.module.js';
import { SlingController } from './sling.controller.js';
import { SlingService } from './sling.service.js';

/** Dispatching work: one bead or many to an agent or a pool. */
@Module({
  imports: [CitiesModule, IdempotencyModule, SlingCoreModule],
  controllers: [SlingController],
  providers: [Rehearsal, SlingBatches, SlingBatchService, SlingService],
})
export class SlingModule {}
