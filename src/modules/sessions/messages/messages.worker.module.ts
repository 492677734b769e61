import { Module } from '@nestjs/common';
import { OperationsModule } from '../../../platform/operations/operations.module.js';
import { SessionStoreModule } from '../session-store/session-store.module.js';
import { MessagesCoreModule } from './messages-core.module.js';
import { MessagesReconciler } from './messages.reconciler.js';

/** What a worker does for messages: it ends those whose time has run out. */
@Module({ imports: [MessagesCoreModule, OperationsModule, SessionStoreModule], providers: [MessagesReconciler] })
export class MessagesWorkerModule {}
