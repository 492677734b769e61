import { Module } from '@nestjs/common';
import { ConfigCoreModule } from '../../configuration/config/config-core.module.js';
import { ConvoysCoreModule } from '../../work/convoys/convoys-core.module.js';
import { FormulaWorkModule } from '../formulas/formula-work.module.js';
import { MailNoticesModule } from '../../work/mail/mail-notices.module.js';
import { RosterModule } from '../../configuration/roster/roster.module.js';
import { WorkModule } from '../../work/work/work.module.js';
import { RunControlRepository } from './control/control.repository.js';
import { RunControl } from './control/run-control.js';
import { DrainsRepository } from './drains/drains.repository.js';
import { DrainsService } from './drains/drains.service.js';
import { GateOpening } from './gates/gate-opening.service.js';
import { GatesRepository } from './gates/gates.repository.js';
import { LaunchAhead } from './launch/launch-ahead.service.js';
import { LaunchService } from './launch/launch.service.js';
import { RunPreparation } from './launch/preparation.service.js';
import { RunEndings } from './run-endings.service.js';
import { RunKeeper } from './run-keeper.js';
import { RunRetention } from './run-retention.service.js';
import { RunsRepository } from './runs.repository.js';

/** Launching, and what follows for runs from changes of beads: in every process that writes work, once. */
@Module({
  imports: [ConfigCoreModule, ConvoysCoreModule, FormulaWorkModule, MailNoticesModule, RosterModule, WorkModule],
  providers: [
    DrainsRepository,
    DrainsService,
    GateOpening,
    GatesRepository,
    LaunchAhead,
    LaunchService,
    RunControl,
    RunControlRepository,
    RunEndings,
    RunKeeper,
    RunPreparation,
    RunRetention,
    RunsRepository,
  ],
  exports: [GateOpening, GatesRepository, LaunchAhead, LaunchService, RunEndings, RunKeeper, RunPreparation, RunRetention, RunsRepository],
})
export class RunsCoreModule {}
