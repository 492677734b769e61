import { Controller, Get, Param, Query, Res } from '@nestjs/common';
import type { FastifyReply } from 'fastify';
import { SessionUsageBody, UsageBody, UsageSeriesBody } from '../../../contract/usage.schemas.js';
import { Operation } from '../../../platform/http/operation.decorator.js';
import { fresh } from '../../../platform/http/indexed.js';
import type { CityScope } from '../../tenancy/cities/city-scope.js';
import { City } from '../../tenancy/cities/city.decorator.js';
import { SessionParam, UsageQuery, UsageSeriesQuery } from './usage.schemas.js';
import { UsageSeriesService } from './usage-series.service.js';
import { UsageService } from './usage.service.js';

const tag = 'usage';

/** What sessions have used, by turns that have ended. */
@Controller('v0/city/:cityName')
export class UsageController {
  constructor(
    private readonly usage: UsageService,
    private readonly overTime: UsageSeriesService,
  ) {}

  @Operation({
    id: 'get-v0-city-by-city-name-usage',
    name: 'get-usage',
    summary: 'Usage of a city',
    description:
      'Tokens and cost of turns that have ended. A cost is what the agent says, else an estimate by `[[pricing]]` of the city; a turn with ' +
      'neither counts as `unpriced`. `today` begins at midnight in `workspace.timezone`. `recent_by_session` has the 24 sessions and `by_agent` ' +
      '(an addition) the 100 agents that used most.',
    tag,
    response: UsageBody,
    headers: ['X-SVC-Index', 'X-SVC-Cache-Age-S'],
    problems: ['city_not_found'],
  })
  @Get('usage')
  async city(
    @City() city: CityScope,
    @Query({ schema: UsageQuery }) query: UsageQuery,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<UsageBody> {
    return fresh(reply, await this.usage.city(city, query.aggregate_only));
  }

  @Operation({
    id: 'get-usage-series',
    summary: 'Usage of a city over time',
    description:
      'An addition: what turns have used that ended in each bucket of time, the last 24 hours unless `since` and `until` say so, in at most 1000 buckets. ' +
      'Buckets of whole days begin at midnight in `workspace.timezone`; one without a turn is left out. With `by` at most twenty are told apart, fewer with many buckets.',
    tag,
    response: UsageSeriesBody,
    headers: ['X-SVC-Index', 'X-SVC-Cache-Age-S'],
    problems: ['city_not_found', 'invalid_request', 'unavailable'],
  })
  @Get('usage/series')
  async series(
    @City() city: CityScope,
    @Query({ schema: UsageSeriesQuery }) query: UsageSeriesQuery,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<UsageSeriesBody> {
    return fresh(reply, await this.overTime.city(city, query));
  }

  @Operation({
    id: 'get-session-usage',
    summary: 'Usage of a session',
    description:
      'An addition: all that a session has used, over all its processes, also after it was closed. Nothing, where the city keeps no account (`recording`).',
    tag,
    response: SessionUsageBody,
    headers: ['X-SVC-Index', 'X-SVC-Cache-Age-S'],
    problems: ['city_not_found', 'session_not_found', 'ambiguous'],
  })
  @Get('session/:id/usage')
  async session(
    @City() city: CityScope,
    @Param('id', { schema: SessionParam }) id: string,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<SessionUsageBody> {
    return fresh(reply, await this.usage.session(city, id));
  }
}
