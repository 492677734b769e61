import { Module } from '@nestjs/common';
import { EventLogModule } from '../../../platform/event-log/event-log.module.js';
import { WorkModule } from '../../work/work/work.module.js';
import { ClaimsOfSessionsRepository } from './claims-of-sessions.repository.js';
import { ClaimsOfSessions } from './claims-of-sessions.service.js';
import { EmptyRunsRepository } from './empty-runs.repository.js';
import { EmptyRunsService } from './empty-runs.service.js';
import { SessionChangesService } from './session-changes.service.js';
import { SessionStore } from './session-store.repository.js';

/** Transactions on sessions and what these hold, for every family that changes or shows them. */
@Module({
  imports: [EventLogModule, WorkModule],
  providers: [ClaimsOfSessions, ClaimsOfSessionsRepository, EmptyRunsRepository, EmptyRunsService, SessionChangesService, SessionStore],
  exports: [ClaimsOfSessions, EmptyRunsService, SessionChangesService],
})
export class SessionStoreModule {}
