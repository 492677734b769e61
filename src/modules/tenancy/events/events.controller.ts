import { Body, Controller, Get, Header, Param, Post, Query, Res } from '@nestjs/common';
import type { FastifyReply } from 'fastify';
import { ListBodyWireEvent, SupervisorEventListOutputBody } from '../../../contract/events/envelopes.js';
import type { Principal } from '../../../contract/principal.js';
import { Caller, IdempotencyKey } from '../../../platform/http/caller.decorator.js';
import { fresh } from '../../../platform/http/indexed.js';
import { Operation } from '../../../platform/http/operation.decorator.js';
import { clientGone } from '../../../platform/streams/head-waiter.js';
import { CityNameParam } from '../cities/city-name.param.js';
import { CityEventsService } from './city-events.service.js';
import { EmitService } from './emit.service.js';
import {
  CityEventsQuery,
  EventEmitOutputBody,
  EventEmitRequest,
  EventRotateResponse,
  RotateQuery,
  SupervisorEventsQuery,
} from './events.schemas.js';
import { RotationService } from './rotation.service.js';
import { SupervisorEventsService } from './supervisor-events.service.js';

const JSON_TYPE = 'application/json; charset=utf-8';

@Controller('v0')
export class EventsController {
  constructor(
    private readonly cityEvents: CityEventsService,
    private readonly supervisorEvents: SupervisorEventsService,
    private readonly emits: EmitService,
    private readonly rotation: RotationService,
  ) {}

  @Operation({
    id: 'get-v0-city-by-city-name-events',
    name: 'list-events',
    summary: "List a city's events",
    description:
      'Newest first by `seq`; with `after_seq` ascending from that position. `next_cursor` is there exactly when the list goes on; ' +
      'a page can be shorter than `limit` when a filter matches rarely, and ends once its events are 2 MiB together, with one at least. `since` and `until` are durations before now such as `5m`. ' +
      '`payload_match` is `key=value` with a dotted path, repeatable: different keys must all match, of one key any value. ' +
      'With `index` the answer waits until the head is above it, at most `wait`. `total` is exact unless `total_is_estimate` is set; then it is a lower bound.',
    tag: 'events',
    response: ListBodyWireEvent,
    headers: ['X-SVC-Index', 'X-SVC-Cache-Age-S'],
    problems: ['invalid_request', 'invalid_cursor', 'city_not_found', 'cursor_expired', 'cursor_ahead'],
  })
  @Get('city/:cityName/events')
  @Header('content-type', JSON_TYPE)
  async list(
    @Param('cityName', { schema: CityNameParam }) cityName: string,
    @Caller() caller: Principal,
    @Query({ schema: CityEventsQuery }) query: CityEventsQuery,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<string> {
    const { json, head } = await this.cityEvents.list(cityName, query, caller, clientGone(reply.raw, caller));
    return fresh(reply, { value: json, index: head });
  }

  @Operation({
    id: 'emit-event',
    needs: 'operate',
    summary: 'Record an event',
    description:
      'Answers once the event is durable, with its `seq`. Payloads of known kinds must fit their schema; other kinds take any object. ' +
      'Kinds beginning with `request.`, `supervisor.`, `city.`, `controller.`, `events.` or `session.interaction.` are reserved, ' +
      'and so is every other spelling that could be taken for one.',
    tag: 'events',
    status: 201,
    response: EventEmitOutputBody,
    problems: ['city_not_found', 'idempotency_mismatch'],
  })
  @Post('city/:cityName/events')
  emit(
    @Param('cityName', { schema: CityNameParam }) cityName: string,
    @Caller() caller: Principal,
    @IdempotencyKey() key: string | undefined,
    @Body({ schema: EventEmitRequest }) body: EventEmitRequest,
  ): Promise<EventEmitOutputBody> {
    return this.emits.emit(cityName, body, key, caller);
  }

  @Operation({
    id: 'rotate-events',
    needs: 'configure',
    summary: "Seal a city's active log",
    description:
      'The sealed part stays readable until its retention ends, seqs go on. Sealing is complete at once, so `wait` has nothing to wait for.',
    tag: 'events',
    response: EventRotateResponse,
    problems: ['city_not_found'],
  })
  @Post('city/:cityName/events/rotate')
  rotate(
    @Param('cityName', { schema: CityNameParam }) cityName: string,
    @Caller() caller: Principal,
    @Query({ schema: RotateQuery }) _query: RotateQuery,
  ): Promise<EventRotateResponse> {
    return this.rotation.rotate(cityName, caller);
  }

  @Operation({
    id: 'get-v0-events',
    name: 'list-all-events',
    summary: 'List the events of the supervisor and of every city',
    description:
      'Newest first by `ts`, then stream, then `seq`; with `after_cursor` ascending from that position. `event_cursor` is the head from before the items were read: ' +
      'a stream opened with it misses nothing that the list does not have. Pages end early as those of a city. Filters as for a city; `cities` is a comma-separated list.',
    tag: 'events',
    response: SupervisorEventListOutputBody,
    problems: ['invalid_request', 'invalid_cursor', 'cursor_expired', 'cursor_ahead'],
  })
  @Get('events')
  @Header('content-type', JSON_TYPE)
  listAll(@Caller() caller: Principal, @Query({ schema: SupervisorEventsQuery }) query: SupervisorEventsQuery): Promise<string> {
    return this.supervisorEvents.list(query, caller);
  }
}
