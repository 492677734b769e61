import { Module } from '@nestjs/common';
import { OperationsModule } from '../../../platform/operations/operations.module.js';
import { SessionsCoreModule } from './sessions-core.module.js';
import { SessionsReconciler } from './sessions.reconciler.js';

/** What a worker does for sessions beside running them. */
@Module({ imports: [OperationsModule, SessionsCoreModule], providers: [SessionsReconciler] })
export class SessionsWorkerModule {}
