import { Module } from '@nestjs/common';
import { ConfigCoreModule } from '../config/config-core.module.js';
import { SuspensionModule } from '../launch/suspension.module.js';
import { NamedSessions } from './named-sessions.service.js';
import { SessionAnswers } from './session-answers.service.js';
import { SessionCommandsRepository } from './session-commands.repository.js';
import { SessionCommands } from './session-commands.service.js';
import { SessionReads } from './session-facts.service.js';
import { SessionNamesRepository } from './session-names.repository.js';
import { SessionResolver } from './session-resolver.service.js';
import { SessionViewsRepository } from './session-views.repository.js';
import { SessionWatch } from './session-watch.service.js';
import { SessionsCoreModule } from './sessions-core.module.js';

/** Finding sessions and asking them for something: for every family that works on them, in api processes and workers. */
@Module({
  imports: [ConfigCoreModule, SessionsCoreModule, SuspensionModule],
  providers: [
    NamedSessions,
    SessionAnswers,
    SessionCommands,
    SessionCommandsRepository,
    SessionNamesRepository,
    SessionReads,
    SessionResolver,
    SessionViewsRepository,
    SessionWatch,
  ],
  exports: [
    NamedSessions,
    SessionAnswers,
    SessionCommands,
    SessionNamesRepository,
    SessionReads,
    SessionResolver,
    SessionViewsRepository,
    SessionWatch,
    SessionsCoreModule,
  ],
})
export class SessionAccessModule {}
