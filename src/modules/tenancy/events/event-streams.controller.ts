import { Controller, Get, Param, Query, Req, Res } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { HeartbeatEvent, TypedEventStreamEnvelope, TypedTaggedEventStreamEnvelope } from '../../../contract/events/envelopes.js';
import type { Principal } from '../../../contract/principal.js';
import { Caller } from '../../../platform/http/caller.decorator.js';
import { Operation } from '../../../platform/http/operation.decorator.js';
import { hijack } from '../../../platform/http/request.js';
import type { Opening } from '../../../platform/streams/event-streams.js';
import { CityNameParam } from '../cities/city-name.param.js';
import { CityStreamQuery, SupervisorStreamQuery } from './event-streams.schemas.js';
import { EventStreamsService } from './event-streams.service.js';

/** Event streams. Frames are written to the socket itself, encoded once a process, never through an interceptor. */
@Controller('v0')
export class EventStreamsController {
  constructor(private readonly service: EventStreamsService) {}

  @Operation({
    id: 'stream-events',
    summary: "Stream a city's events, from a position or from now on",
    description:
      'Each event once and in order. `after_seq` or `Last-Event-ID` says where to begin; a stream that breaks is resumed at any replica. Heartbeats say that it lives, and how far the log is. `type` leaves events out, not their positions.',
    tag: 'events',
    stream: [
      { event: 'event', data: TypedEventStreamEnvelope, id: 'integer' },
      { event: 'heartbeat', data: HeartbeatEvent, id: 'integer' },
    ],
    problems: ['invalid_cursor', 'city_not_found', 'cursor_expired', 'cursor_ahead', 'no_providers'],
  })
  @Get('city/:cityName/events/stream')
  async city(
    @Param('cityName', { schema: CityNameParam }) cityName: string,
    @Caller() caller: Principal,
    @Query({ schema: CityStreamQuery }) query: CityStreamQuery,
    @Req() request: FastifyRequest,
    @Res() reply: FastifyReply,
  ): Promise<void> {
    await begin(reply, await this.service.openCity(cityName, caller, query, lastEventId(request)));
  }

  @Operation({
    id: 'stream-supervisor-events',
    summary: 'Stream the events of the supervisor and of every city',
    description:
      'All logs in one stream, each event once and each log in its order. `after_cursor` or `Last-Event-ID` says where to begin; a stream that breaks is resumed at any replica. A key of some cities sees these.',
    tag: 'events',
    stream: [
      { event: 'tagged_event', data: TypedTaggedEventStreamEnvelope },
      { event: 'heartbeat', data: HeartbeatEvent },
    ],
    problems: ['invalid_cursor', 'cursor_expired', 'cursor_ahead', 'no_providers'],
  })
  @Get('events/stream')
  async supervisor(
    @Caller() caller: Principal,
    @Query({ schema: SupervisorStreamQuery }) query: SupervisorStreamQuery,
    @Req() request: FastifyRequest,
    @Res() reply: FastifyReply,
  ): Promise<void> {
    await begin(reply, await this.service.openSupervisor(caller, query, lastEventId(request)));
  }
}

function lastEventId(request: FastifyRequest): string | undefined {
  const given = request.headers['last-event-id'];
  return typeof given === 'string' ? given : given?.[0];
}

/** The first moment at which nothing can be refused any more. */
function begin(reply: FastifyReply, opening: Opening): Promise<void> {
  return opening.begin(reply.raw, hijack(reply));
}
