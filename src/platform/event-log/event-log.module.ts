import { Module } from '@nestjs/common';
import { EventLog } from './event-log.js';
import { MovedStreams } from './moved.js';
import { EventPartitions } from './partitions.js';
import { PartitionRotation } from './partition-rotation.js';
import { EventSegments } from './segments.js';

@Module({
  providers: [EventLog, MovedStreams, EventSegments, EventPartitions, PartitionRotation],
  exports: [EventLog, MovedStreams, EventSegments, PartitionRotation],
})
export class EventLogModule {}
