import { Module } from '@nestjs/common';
import { WorkModule } from '../work/work.module.js';
import { GatesReconciler } from './gates/gates.reconciler.js';
import { RunsCoreModule } from './runs-core.module.js';

/** What a worker does for runs: it looks at gates when their time has come. */
@Module({ imports: [RunsCoreModule, WorkModule], providers: [GatesReconciler] })
export class RunsWorkerModule {}
