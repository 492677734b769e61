import { Module } from '@nestjs/common';
import { ConfigCoreModule } from '../../configuration/config/config-core.module.js';
import { LaunchModule } from '../launch/launch.module.js';
import { SessionStoreModule } from '../session-store/session-store.module.js';
import { NamedSessions } from './named-sessions.service.js';
import { SessionNamesRepository } from './session-names.repository.js';
import { SessionResolver } from './session-resolver.service.js';

/** Which session a name means, and those that the configuration names. */
@Module({
  imports: [ConfigCoreModule, SessionStoreModule, LaunchModule],
  providers: [NamedSessions, SessionNamesRepository, SessionResolver],
  exports: [NamedSessions, SessionResolver, SessionStoreModule],
})
export class SessionNamesModule {}
