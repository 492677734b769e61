import { Module } from '@nestjs/common';
import { EventLog } from './event-log.js';
import { MovedStreams } from './moved.js';

@Module({ providers: [EventLog, MovedStreams], exports: [EventLog, MovedStreams] })
export class EventLogModule {}
