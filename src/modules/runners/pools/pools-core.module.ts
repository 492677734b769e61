import { Module } from '@nestjs/common';
import { ConfigCoreModule } from '../../configuration/config/config-core.module.js';
import { OfferedWorkModule } from '../../work/hooks/offered-work.module.js';
import { LaunchModule } from '../../sessions/launch/launch.module.js';
import { MessagesCoreModule } from '../../sessions/messages/messages-core.module.js';
import { SessionStoreModule } from '../../sessions/session-store/session-store.module.js';
import { SessionsCoreModule } from '../../sessions/sessions/sessions-core.module.js';
import { CitySessions } from './city-sessions.service.js';
import { PoolExecutor } from './pool-executor.js';
import { PoolPass } from './pool-pass.service.js';
import { PoolStateRepository } from './pool-state.repository.js';
import { ScaleChecks } from './scale-checks.js';

/** Looking at the sessions of a city as a whole; for workers. */
@Module({
  imports: [SessionStoreModule, ConfigCoreModule, LaunchModule, MessagesCoreModule, OfferedWorkModule, SessionsCoreModule],
  providers: [CitySessions, PoolExecutor, PoolPass, PoolStateRepository, ScaleChecks],
  exports: [CitySessions, SessionStoreModule, MessagesCoreModule, PoolPass, PoolStateRepository, ScaleChecks, SessionsCoreModule],
})
export class PoolsCoreModule {}
