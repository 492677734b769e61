import { Module } from '@nestjs/common';
import { EventLogModule } from '../../../platform/event-log/event-log.module.js';
import { InboxController } from './inbox.controller.js';
import { InboxRepository } from './inbox.repository.js';
import { InboxService } from './inbox.service.js';

/** What waits for people, over HTTP. */
@Module({ imports: [EventLogModule], controllers: [InboxController], providers: [InboxRepository, InboxService] })
export class InboxModule {}
