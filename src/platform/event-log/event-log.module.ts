import { Module } from '@nestjs/common';
import { EventLog } from './event-log.js';
import { MovedStreams } from './moved.js';
import { EventPartitions } from './partitions.js';
import { EventParts } from './parts.js';
import { EventSegments } from './segments.js';

@Module({
  providers: [EventLog, MovedStreams, EventSegments, EventPartitions, EventParts],
  exports: [EventLog, MovedStreams, EventSegments, EventParts],
})
export class EventLogModule {}
