import { Controller, Get, Param, Post, Query, Req, Res } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { HeartbeatEvent } from '../../../contract/events/envelopes.js';
import type { Principal } from '../../../contract/principal.js';
import { Caller, IdempotencyKey } from '../../../platform/http/caller.decorator.js';
import { Operation } from '../../../platform/http/operation.decorator.js';
import type { CityScope } from '../../tenancy/cities/city-scope.js';
import { City } from '../../tenancy/cities/city.decorator.js';
import { stamped } from '../../configuration/config/answers.js';
import { begin, lastEventId } from '../../sessions/transcripts/stream-answers.js';
import { ServiceLogStreams } from './service-log-streams.service.js';
import {
  ListBodyStatus,
  NoQuery,
  ServiceLogBody,
  ServiceLogLine,
  ServiceLogQuery,
  ServiceLogStreamQuery,
  ServiceNameParam,
  ServiceRestartOutputBody,
  Status,
} from './services.schemas.js';
import { ServicesService } from './services.service.js';

const NAME = { schema: ServiceNameParam };
const tag = 'services';
const headers = ['X-SVC-Index', 'X-SVC-Cache-Age-S'] as const;
const NAMED = ['city_not_found', 'service_not_found'] as const;

/** What a city serves beside the typed contract: its own programs, below `/v0/city/{cityName}/svc/`. */
@Controller('v0/city/:cityName')
export class ServicesController {
  constructor(
    private readonly services: ServicesService,
    private readonly streams: ServiceLogStreams,
  ) {}

  @Operation({
    id: 'get-v0-city-by-city-name-services',
    plannedOnce: true,
    name: 'list-services',
    summary: 'List services',
    description: 'By name: what the files of the city say of each, and how it is. `service.state_changed` tells of every change.',
    tag,
    headers,
    response: ListBodyStatus,
    problems: ['city_not_found'],
  })
  @Get('services')
  async list(
    @City() city: CityScope,
    @Query({ schema: NoQuery }) _query: object,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<ListBodyStatus> {
    const answer = await this.services.list(city);
    return stamped(reply, answer, answer.body);
  }

  @Operation({
    id: 'get-v0-city-by-city-name-service-by-name',
    plannedOnce: true,
    name: 'get-service',
    summary: 'Read a service',
    description: 'How it is, and where it is reached.',
    tag,
    headers,
    response: Status,
    problems: NAMED,
  })
  @Get('service/:name')
  async get(
    @City() city: CityScope,
    @Param('name', NAME) name: string,
    @Query({ schema: NoQuery }) _query: object,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<Status> {
    const answer = await this.services.get(city, name);
    return stamped(reply, answer, answer.body);
  }

  @Operation({
    id: 'post-v0-city-by-city-name-service-by-name-restart',
    name: 'restart-service',
    needs: 'operate',
    summary: 'Begin the process of a service anew',
    description:
      'From this answer on nobody reaches the old process; connections that are open have a second to end. `service.state_changed` tells ' +
      'when the new one is ready. What failed before does not count any more. A service of kind `workflow` has no process. ' +
      'Who repeats it under its key leaves the next process alone.',
    tag,
    response: ServiceRestartOutputBody,
    problems: NAMED,
  })
  @Post('service/:name/restart')
  restart(
    @City() city: CityScope,
    @Param('name', NAME) name: string,
    @Query({ schema: NoQuery }) _query: object,
    @IdempotencyKey() key: string | undefined,
    @Caller() caller: Principal,
  ): Promise<ServiceRestartOutputBody> {
    return this.services.restart(city, name, key, caller);
  }

  @Operation({
    id: 'get-service-logs',
    summary: 'Read what a service has written',
    description:
      'The newest lines of what its processes have written, both outputs, without what looks like a secret. The last 2,000 are kept.',
    tag,
    response: ServiceLogBody,
    problems: NAMED,
  })
  @Get('service/:name/logs')
  logs(
    @City() city: CityScope,
    @Param('name', NAME) name: string,
    @Query({ schema: ServiceLogQuery }) query: ServiceLogQuery,
  ): Promise<ServiceLogBody> {
    return this.services.logs(city, name, query);
  }

  @Operation({
    id: 'stream-service-logs',
    summary: 'Follow what a service writes',
    description:
      'Begins with the newest lines, or after `Last-Event-ID`, and goes on live, also when another host has the service. Ids are positions at any replica.',
    tag,
    stream: [
      { event: 'heartbeat', data: HeartbeatEvent, id: 'integer' },
      { event: 'line', data: ServiceLogLine, id: 'integer' },
    ],
    problems: [...NAMED, 'invalid_cursor', 'cursor_ahead', 'unavailable'],
  })
  @Get('service/:name/logs/stream')
  async stream(
    @City() city: CityScope,
    @Param('name', NAME) name: string,
    @Query({ schema: ServiceLogStreamQuery }) query: ServiceLogStreamQuery,
    @Caller() caller: Principal,
    @Req() request: FastifyRequest,
    @Res() reply: FastifyReply,
  ): Promise<void> {
    await begin(reply, { opening: await this.streams.open(city, name, caller, query, lastEventId(request)), headers: {} });
  }
}
