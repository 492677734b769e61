import { Module } from '@nestjs/common';
import { EventLogModule } from '../../../platform/event-log/event-log.module.js';
import { EventRetention } from './event-retention.js';

@Module({ imports: [EventLogModule], providers: [EventRetention] })
export class EventsWorkerModule {}
