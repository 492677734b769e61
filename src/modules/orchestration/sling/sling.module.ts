import { Module } from '@nestjs/common';
import { IdempotencyModule } from '../../../platform/idempotency/idempotency.module.js';
import { CitiesModule } from '../../tenancy/cities/cities.module.js';
import { ConvoysModule } from '../../work/convoys/convoys.module.js';
import { DependenciesModule } from '../../work/dependencies/dependencies.module.js';
import { RosterModule } from '../../configuration/roster/roster.module.js';
import { RunsCoreModule } from '../runs/runs-core.module.js';
import { WorkModule } from '../../work/work/work.module.js';
import { BatchFormulas } from './batch-formulas.js';
import { BatchPlans } from './batch-plans.js';
import { Rehearsal } from './rehearsal.js';
import { SlingBatchService } from './sling-batch.service.js';
import { SlingDispatch } from './sling-dispatch.js';
import { SlingFormulas } from './sling-formulas.js';
import { SlingOrders } from './sling-orders.js';
import { SlingController } from './sling.controller.js';
import { SlingRepository } from './sling.repository.js';
import { SlingService } from './sling.service.js';

/** Dispatching work: one bead or many to an agent or a pool. */
@Module({
  imports: [CitiesModule, WorkModule, ConvoysModule, DependenciesModule, RosterModule, RunsCoreModule, IdempotencyModule],
  controllers: [SlingController],
  providers: [
    BatchFormulas,
    BatchPlans,
    Rehearsal,
    SlingBatchService,
    SlingDispatch,
    SlingFormulas,
    SlingOrders,
    SlingRepository,
    SlingService,
  ],
})
export class SlingModule {}
