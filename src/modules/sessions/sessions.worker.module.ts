import { Module } from '@nestjs/common';
import { OperationsModule } from '../../platform/operations/operations.module.js';
import { SessionDeletionsRepository } from './session-deletions.repository.js';
import { SessionEndingsModule } from './session-endings.module.js';
import { SessionsReconciler } from './sessions.reconciler.js';

/** What a worker does for sessions beside running them. */
@Module({ imports: [OperationsModule, SessionEndingsModule], providers: [SessionDeletionsRepository, SessionsReconciler] })
export class SessionsWorkerModule {}
