import { Module } from '@nestjs/common';
import { IdempotencyModule } from '../../../platform/idempotency/idempotency.module.js';
import { CitiesModule } from '../../tenancy/cities/cities.module.js';
import { ConfigCoreModule } from '../../configuration/config/config-core.module.js';
import { FormulaWorkModule } from '../formulas/formula-work.module.js';
import { RosterModule } from '../../configuration/roster/roster.module.js';
import { SessionsCoreModule } from '../../sessions/sessions/sessions-core.module.js';
import { WorkModule } from '../../work/work/work.module.js';
import { FormulaRunsController } from './formula-runs.controller.js';
import { FormulaRunsService } from './formula-runs.service.js';
import { MoleculesController } from './molecules.controller.js';
import { MoleculesRepository } from './molecules.repository.js';
import { MoleculesService } from './molecules.service.js';
import { RunChangesService } from './run-changes.service.js';
import { RunReadsRepository } from './run-reads.repository.js';
import { RunReadsService } from './run-reads.service.js';
import { RunsController } from './runs.controller.js';
import { RunsCoreModule } from './runs-core.module.js';

/** Runs and molecules over HTTP. Needs the streams room beside it in the root. */
@Module({
  imports: [
    CitiesModule,
    ConfigCoreModule,
    IdempotencyModule,
    RosterModule,
    FormulaWorkModule,
    RunsCoreModule,
    SessionsCoreModule,
    WorkModule,
  ],
  controllers: [FormulaRunsController, MoleculesController, RunsController],
  providers: [FormulaRunsService, MoleculesRepository, MoleculesService, RunChangesService, RunReadsRepository, RunReadsService],
})
export class RunsModule {}
