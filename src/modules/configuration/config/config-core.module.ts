import { Module } from '@nestjs/common';
import { EventLogModule } from '../../../platform/event-log/event-log.module.js';
import { IdempotencyModule } from '../../../platform/idempotency/idempotency.module.js';
import { ThreadsModule } from '../../../platform/threads/threads.module.js';
import { DirectoriesModule } from '../../files/directories/directories.module.js';
import { RosterModule } from '../roster/roster.module.js';
import { CityComposer } from './city-composer.js';
import { ConfigEditsRepository } from './config-edits.repository.js';
import { ConfigEditsService } from './config-edits.service.js';
import { ConfigReadsService } from './config-reads.service.js';
import { ConfigReloadsService } from './config-reloads.service.js';
import { ConfigRevisionsService } from './config-revisions.service.js';
import { ConfigRepository } from './config.repository.js';
import { EditLimits, EditRecovery } from './edit-recovery.js';
import { Following } from './following.js';
import { FollowingRepository } from './following.repository.js';

/** What requests and workers share: composing, revisions, edits. Families that change the configuration import it. */
@Module({
  imports: [DirectoriesModule, EventLogModule, IdempotencyModule, RosterModule, ThreadsModule],
  providers: [
    CityComposer,
    ConfigEditsRepository,
    ConfigEditsService,
    ConfigReadsService,
    ConfigReloadsService,
    ConfigRepository,
    ConfigRevisionsService,
    EditLimits,
    EditRecovery,
    Following,
    FollowingRepository,
  ],
  exports: [CityComposer, ConfigEditsService, ConfigReadsService, ConfigReloadsService, ConfigRevisionsService, EditRecovery, Following],
})
export class ConfigCoreModule {}
