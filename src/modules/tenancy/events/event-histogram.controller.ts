import { Controller, Get, Param, Query, Res } from '@nestjs/common';
import type { FastifyReply } from 'fastify';
import type { Principal } from '../../../contract/principal.js';
import { Caller } from '../../../platform/http/caller.decorator.js';
import { fresh } from '../../../platform/http/indexed.js';
import { Operation } from '../../../platform/http/operation.decorator.js';
import { CityNameParam } from '../cities/city-name.param.js';
import { EventHistogramService } from './event-histogram.service.js';
import { CityHistogramQuery, EventHistogramBody, SupervisorHistogramQuery } from './events.schemas.js';

const ABOUT =
  'of the last 24 hours unless `since` and `until` say so, with the filters that the list has, in at most 1000 buckets. With `by` at most twenty are told apart, fewer with many buckets. ' +
  'The counts are exact unless `total_is_estimate` is set: of very many events a part is looked at.';

/** How many events there are over time. */
@Controller('v0')
export class EventHistogramController {
  constructor(private readonly histograms: EventHistogramService) {}

  @Operation({
    id: 'get-event-histogram',
    summary: 'Count the events of a city over time',
    description: `An addition: how many events a city has in each bucket of time, ${ABOUT}`,
    tag: 'events',
    response: EventHistogramBody,
    headers: ['X-SVC-Index', 'X-SVC-Cache-Age-S'],
    problems: ['city_not_found', 'invalid_request'],
  })
  @Get('city/:cityName/events/histogram')
  async city(
    @Param('cityName', { schema: CityNameParam }) cityName: string,
    @Query({ schema: CityHistogramQuery }) query: CityHistogramQuery,
    @Caller() caller: Principal,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<EventHistogramBody> {
    return fresh(reply, await this.histograms.city(cityName, query, caller));
  }

  @Operation({
    id: 'get-all-event-histogram',
    summary: 'Count the events of the supervisor and of every city over time',
    description: `An addition: how many events the caller may see in each bucket of time, ${ABOUT}`,
    tag: 'events',
    response: EventHistogramBody,
    problems: ['invalid_request'],
  })
  @Get('events/histogram')
  all(
    @Query({ schema: SupervisorHistogramQuery }) query: SupervisorHistogramQuery,
    @Caller() caller: Principal,
  ): Promise<EventHistogramBody> {
    return this.histograms.supervisor(query, caller);
  }
}
