import { Module } from '@nestjs/common';
import { EventLogModule } from '../../../platform/event-log/event-log.module.js';
import { IdempotencyModule } from '../../../platform/idempotency/idempotency.module.js';
import { OperationsModule } from '../../../platform/operations/operations.module.js';
import { CitiesModule } from '../../tenancy/cities/cities.module.js';
import { ConfigCoreModule } from '../../configuration/config/config-core.module.js';
import { DirectoriesModule } from '../../files/directories/directories.module.js';
import { RosterModule } from '../../configuration/roster/roster.module.js';
import { SessionStoreModule } from '../session-store/session-store.module.js';
import { RigAdmissionService } from './rig-admission.service.js';
import { RigChangesService } from './rig-changes.service.js';
import { RigCreationService } from './rig-creation.service.js';
import { RigPlaces } from './rig-places.js';
import { RigReadsService } from './rig-reads.service.js';
import { RigRestarts } from './rig-restarts.service.js';
import { RigsController } from './rigs.controller.js';
import { RigsCoreModule } from './rigs-core.module.js';

/** Rigs over HTTP. */
@Module({
  imports: [
    CitiesModule,
    ConfigCoreModule,
    DirectoriesModule,
    EventLogModule,
    IdempotencyModule,
    OperationsModule,
    RigsCoreModule,
    RosterModule,
    SessionStoreModule,
  ],
  controllers: [RigsController],
  providers: [RigAdmissionService, RigChangesService, RigCreationService, RigPlaces, RigReadsService, RigRestarts],
})
export class RigsModule {}
