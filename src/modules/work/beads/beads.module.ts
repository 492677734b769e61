import { Module } from '@nestjs/common';
import { EventLogModule } from '../../../platform/event-log/event-log.module.js';
import { IdempotencyModule } from '../../../platform/idempotency/idempotency.module.js';
import { CitiesModule } from '../../tenancy/cities/cities.module.js';
import { ConvoysModule } from '../convoys/convoys.module.js';
import { DependenciesModule } from '../dependencies/dependencies.module.js';
import { RosterModule } from '../../configuration/roster/roster.module.js';
import { WorkModule } from '../work/work.module.js';
import { BeadChangesService } from './bead-changes.service.js';
import { BeadController } from './bead.controller.js';
import { BeadCreationService } from './bead-creation.service.js';
import { BeadsController } from './beads.controller.js';
import { BeadsRepository } from './beads.repository.js';
import { BeadsService } from './beads.service.js';
import { CreateCommitter } from './create-committer.js';
import { CreateRepository } from './create.repository.js';
import { LabelsController } from './labels.controller.js';

/** Beads over HTTP: create, read, lists, changes and labels. Needs the streams room beside it in the root. */
@Module({
  imports: [CitiesModule, ConvoysModule, DependenciesModule, EventLogModule, IdempotencyModule, RosterModule, WorkModule],
  controllers: [BeadsController, BeadController, LabelsController],
  providers: [BeadChangesService, BeadCreationService, BeadsRepository, BeadsService, CreateCommitter, CreateRepository],
})
export class BeadsModule {}
