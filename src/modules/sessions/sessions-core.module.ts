import { Module } from '@nestjs/common';
import { EventLogModule } from '../../platform/event-log/event-log.module.js';
import { WorkModule } from '../work/work.module.js';
import { SessionChangesService } from './session-changes.service.js';
import { SessionStore } from './session-store.repository.js';

/** Transactions on sessions, for every family that changes them. */
@Module({ imports: [EventLogModule, WorkModule], providers: [SessionChangesService, SessionStore], exports: [SessionChangesService] })
export class SessionsCoreModule {}
