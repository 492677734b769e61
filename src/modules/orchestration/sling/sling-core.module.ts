import { Module } from '@nestjs/common';
import { OperationsModule } from '../../../platform/operations/operations.module.js';
import { RosterModule } from '../../configuration/roster/roster.module.js';
import { ConvoysCoreModule } from '../../work/convoys/convoys-core.module.js';
import { DependenciesCoreModule } from '../../work/dependencies/dependencies-core.module.js';
import { WorkModule } from '../../work/work/work.module.js';
import { RunsCoreModule } from '../runs/runs-core.module.js';
import { BatchFormulas } from './batch-formulas.js';
import { BatchPlans } from './batch-plans.js';
import { SlingBatchesRepository } from './sling-batches.repository.js';
import { SlingDispatch } from './sling-dispatch.js';
import { SlingFormulas } from './sling-formulas.js';
import { SlingOrders } from './sling-orders.js';
import { SlingRepository } from './sling.repository.js';

/** What slings beads, in whichever process. */
@Module({
  imports: [ConvoysCoreModule, DependenciesCoreModule, OperationsModule, RosterModule, RunsCoreModule, WorkModule],
  providers: [BatchFormulas, BatchPlans, SlingBatchesRepository, SlingDispatch, SlingFormulas, SlingOrders, SlingRepository],
  exports: [
    BatchFormulas,
    BatchPlans,
    OperationsModule,
    SlingBatchesRepository,
    SlingDispatch,
    SlingFormulas,
    SlingOrders,
    SlingRepository,
    WorkModule,
  ],
})
export class SlingCoreModule {}
