import { Module } from '@nestjs/common';
import { IdempotencyModule } from '../../../platform/idempotency/idempotency.module.js';
import { OperationsModule } from '../../../platform/operations/operations.module.js';
import { CitiesModule } from '../../tenancy/cities/cities.module.js';
import { ConfigCoreModule } from '../../configuration/config/config-core.module.js';
import { LaunchModule } from '../launch/launch.module.js';
import { MessagesCoreModule } from '../messages/messages-core.module.js';
import { SessionStoreModule } from '../session-store/session-store.module.js';
import { ProvidersModule } from '../../hosts/providers/providers.module.js';
import { RosterModule } from '../../configuration/roster/roster.module.js';
import { SessionsCoreModule } from './sessions-core.module.js';
import { SessionClosing } from './session-closing.service.js';
import { SessionCreation } from './session-creation.service.js';
import { SessionDriftController } from './session-drift.controller.js';
import { SessionDriftRepository } from './session-drift.repository.js';
import { SessionDrifts } from './session-drift.service.js';
import { SessionEdits } from './session-edits.service.js';
import { SessionLifecycleController } from './session-lifecycle.controller.js';
import { SessionLists } from './session-lists.service.js';
import { SessionRequests } from './session-requests.service.js';
import { SessionStopping } from './session-stopping.service.js';
import { SessionTimings } from './session-timings.js';
import { SessionWaitsRepository } from './session-waits.repository.js';
import { SessionWakes } from './session-wakes.service.js';
import { SessionsController } from './sessions.controller.js';

/** Sessions over HTTP. */
@Module({
  imports: [
    CitiesModule,
    SessionStoreModule,
    ConfigCoreModule,
    IdempotencyModule,
    LaunchModule,
    MessagesCoreModule,
    OperationsModule,
    ProvidersModule,
    RosterModule,
    SessionsCoreModule,
  ],
  controllers: [SessionsController, SessionLifecycleController, SessionDriftController],
  providers: [
    SessionClosing,
    SessionCreation,
    SessionDriftRepository,
    SessionDrifts,
    SessionEdits,
    SessionLists,
    SessionRequests,
    SessionStopping,
    SessionWaitsRepository,
    SessionWakes,
    { provide: SessionTimings, useFactory: () => new SessionTimings() },
  ],
})
export class SessionsModule {}
