import { Controller, Get, Param, Query, Res } from '@nestjs/common';
import type { FastifyReply } from 'fastify';
import type { Principal } from '../../../contract/principal.js';
import { Caller } from '../../../platform/http/caller.decorator.js';
import { fresh } from '../../../platform/http/indexed.js';
import { Operation } from '../../../platform/http/operation.decorator.js';
import { clientGone } from '../../../platform/streams/head-waiter.js';
import { CityNameParam } from '../../tenancy/cities/city-name.param.js';
import { StatusBody, StatusQuery } from './city-status.schemas.js';
import { CityStatusService } from './city-status.service.js';

@Controller('v0/city/:cityName')
export class CityStatusController {
  constructor(private readonly statuses: CityStatusService) {}

  @Operation({
    id: 'get-v0-city-by-city-name-status',
    plannedOnce: true,
    name: 'get-city-status',
    summary: 'What is going on in a running city; with `index`, once its event log has moved on',
    description: '`lite=true` counts no work, no sessions and no places of pools, and leaves the details out.',
    tag: 'cities',
    response: StatusBody,
    headers: ['X-SVC-Index', 'X-SVC-Cache-Age-S'],
    problems: ['city_not_found', 'unavailable'],
  })
  @Get('status')
  async status(
    @Param('cityName', { schema: CityNameParam }) name: string,
    @Query({ schema: StatusQuery }) query: StatusQuery,
    @Caller() caller: Principal,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<StatusBody> {
    return fresh(reply, await this.statuses.status(name, query, caller, clientGone(reply.raw, caller)));
  }
}
