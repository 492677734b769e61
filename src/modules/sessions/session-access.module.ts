import { Module } from '@nestjs/common';
import { ConfigCoreModule } from '../config/config-core.module.js';
import { SessionAnswers } from './session-answers.service.js';
import { SessionCommandsRepository } from './session-commands.repository.js';
import { SessionCommands } from './session-commands.service.js';
import { SessionReads } from './session-facts.service.js';
import { SessionViewsRepository } from './session-views.repository.js';
import { SessionWatch } from './session-watch.service.js';
import { SessionNamesModule } from '../session-names/session-names.module.js';
import { SessionStoreModule } from '../session-store/session-store.module.js';

/** Finding sessions and asking them for something: for every family that works on them, in api processes and workers. */
@Module({
  imports: [ConfigCoreModule, SessionNamesModule, SessionStoreModule],
  providers: [SessionAnswers, SessionCommands, SessionCommandsRepository, SessionReads, SessionViewsRepository, SessionWatch],
  exports: [SessionAnswers, SessionCommands, SessionReads, SessionViewsRepository, SessionWatch, SessionNamesModule, SessionStoreModule],
})
export class SessionAccessModule {}
