import { Module } from '@nestjs/common';
import { ConfigCoreModule } from '../config/config-core.module.js';
import { ConvoysCoreModule } from '../convoys/convoys-core.module.js';
import { RosterModule } from '../roster/roster.module.js';
import { WorkModule } from '../work/work.module.js';
import { RunControlRepository } from './control/control.repository.js';
import { RunControl } from './control/run-control.js';
import { LaunchService } from './launch/launch.service.js';
import { RunPreparation } from './launch/preparation.service.js';
import { RunEndings } from './run-endings.service.js';
import { RunKeeper } from './run-keeper.js';
import { RunsRepository } from './runs.repository.js';

/** Launching, and what follows for runs from changes of beads: in every process that writes work, once. */
@Module({
  imports: [ConfigCoreModule, ConvoysCoreModule, RosterModule, WorkModule],
  providers: [LaunchService, RunControl, RunControlRepository, RunEndings, RunKeeper, RunPreparation, RunsRepository],
  exports: [LaunchService, RunEndings, RunPreparation, RunsRepository],
})
export class RunsCoreModule {}
