import { Module } from '@nestjs/common';
import { EventLog } from './event-log.js';
import { MovedStreams } from './moved.js';
import { EventSegments } from './segments.js';

@Module({ providers: [EventLog, MovedStreams, EventSegments], exports: [EventLog, MovedStreams, EventSegments] })
export class EventLogModule {}
