import { Module } from '@nestjs/common';
import { LaunchModule } from '../../sessions/launch/launch.module.js';
import { LeaseTimings } from '../../sessions/launch/leased-work.js';
import { SessionTokensCoreModule } from '../../sessions/session-tokens/session-tokens-core.module.js';
import { WorkModule } from '../../work/work/work.module.js';
import { CheckRunner } from './checks/check-runner.js';
import { ChecksRepository } from './checks/checks.repository.js';
import { ContinuationsReconciler } from './control/continuations.reconciler.js';
import { ContinuationsRepository } from './control/continuations.repository.js';
import { GatesReconciler } from './gates/gates.reconciler.js';
import { LimitsReconciler } from './limits/limits.reconciler.js';
import { LimitsRepository } from './limits/limits.repository.js';
import { RunsCoreModule } from './runs-core.module.js';

/** What a worker does for runs: it looks at gates and rounds when their time has come, goes on with what is too long for one transaction, and runs the scripts of checks. */
@Module({
  imports: [LaunchModule, RunsCoreModule, SessionTokensCoreModule, WorkModule],
  providers: [
    CheckRunner,
    ChecksRepository,
    ContinuationsReconciler,
    ContinuationsRepository,
    GatesReconciler,
    LimitsReconciler,
    LimitsRepository,
    { provide: LeaseTimings, useValue: new LeaseTimings() },
  ],
})
export class RunsWorkerModule {}
