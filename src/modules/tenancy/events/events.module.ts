import { Module } from '@nestjs/common';
import { EventLogModule } from '../../../platform/event-log/event-log.module.js';
import { CitiesModule } from '../cities/cities.module.js';
import { CityEventsRepository } from './city-events.repository.js';
import { CityEventsService } from './city-events.service.js';
import { EmitRepository } from './emit.repository.js';
import { EmitService } from './emit.service.js';
import { EventHistogramController } from './event-histogram.controller.js';
import { EventHistogramRepository } from './event-histogram.repository.js';
import { EventHistogramService } from './event-histogram.service.js';
import { EventStreamsController } from './event-streams.controller.js';
import { EventStreamsService } from './event-streams.service.js';
import { EventsController } from './events.controller.js';
import { FeedEventsRepository } from './feed-events.repository.js';
import { FeedEventsService } from './feed-events.service.js';
import { EmitCommitter } from './emit-committer.js';
import { ListLimits } from './list-limits.js';
import { RotationService } from './rotation.service.js';
import { SupervisorEventsRepository } from './supervisor-events.repository.js';
import { SupervisorEventsService } from './supervisor-events.service.js';

/** The event bus over HTTP: lists, streams, emits and rotation. Needs the streams room beside it in the root. */
@Module({
  imports: [EventLogModule, CitiesModule],
  controllers: [EventHistogramController, EventsController, EventStreamsController],
  providers: [
    CityEventsRepository,
    CityEventsService,
    EmitRepository,
    EmitService,
    EventHistogramRepository,
    EventHistogramService,
    EventStreamsService,
    FeedEventsRepository,
    FeedEventsService,
    EmitCommitter,
    ListLimits,
    RotationService,
    SupervisorEventsRepository,
    SupervisorEventsService,
  ],
})
export class EventsModule {}
