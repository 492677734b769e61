import { Module } from '@nestjs/common';
import { OperationsModule } from '../../platform/operations/operations.module.js';
import { SessionsCoreModule } from '../sessions/sessions-core.module.js';
import { MessagesCoreModule } from './messages-core.module.js';
import { MessagesReconciler } from './messages.reconciler.js';

/** What a worker does for messages: it ends those whose time has run out. */
@Module({ imports: [MessagesCoreModule, OperationsModule, SessionsCoreModule], providers: [MessagesReconciler] })
export class MessagesWorkerModule {}
