import { Module } from '@nestjs/common';
import { OperationsModule } from '../../../platform/operations/operations.module.js';
import { ConfigCoreModule } from '../../configuration/config/config-core.module.js';
import { MessagesCoreModule } from '../messages/messages-core.module.js';
import { SessionNamesModule } from '../session-names/session-names.module.js';
import { SessionStoreModule } from '../session-store/session-store.module.js';
import { CreateEndingsRepository } from './create-endings.repository.js';
import { CreateEndings } from './create-endings.service.js';
import { SessionAnswers } from './session-answers.service.js';
import { SessionByIdRepository } from './session-by-id.repository.js';
import { SessionCommandsRepository } from './session-commands.repository.js';
import { SessionCommands } from './session-commands.service.js';
import { SessionDeletionsRepository } from './session-deletions.repository.js';
import { SessionRetention } from './session-retention.service.js';
import { SessionViewsRepository } from './session-views.repository.js';
import { SessionWatch } from './session-watch.service.js';

/**
 * Finding sessions and asking them for something, for every family that works on them; what ends the operations that make sessions; and
 * what removes them. In api processes and workers.
 */
@Module({
  imports: [ConfigCoreModule, MessagesCoreModule, OperationsModule, SessionNamesModule, SessionStoreModule],
  providers: [
    CreateEndings,
    CreateEndingsRepository,
    SessionAnswers,
    SessionByIdRepository,
    SessionCommands,
    SessionCommandsRepository,
    SessionDeletionsRepository,
    SessionRetention,
    SessionViewsRepository,
    SessionWatch,
  ],
  exports: [
    CreateEndingsRepository,
    SessionAnswers,
    SessionCommands,
    SessionDeletionsRepository,
    SessionNamesModule,
    SessionRetention,
    SessionStoreModule,
    SessionViewsRepository,
    SessionWatch,
  ],
})
export class SessionsCoreModule {}
