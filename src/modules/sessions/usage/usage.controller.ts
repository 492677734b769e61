import { Controller, Get, Param, Query } from '@nestjs/common';
import { SessionUsageBody, UsageBody } from '../../../contract/usage.schemas.js';
import { Operation } from '../../../platform/http/operation.decorator.js';
import type { CityScope } from '../../tenancy/cities/city-scope.js';
import { City } from '../../tenancy/cities/city.decorator.js';
import { SessionParam, UsageQuery } from './usage.schemas.js';
import { UsageService } from './usage.service.js';

const tag = 'usage';

/** What sessions have used, by turns that have ended. */
@Controller('v0/city/:cityName')
export class UsageController {
  constructor(private readonly usage: UsageService) {}

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
    problems: ['city_not_found'],
  })
  @Get('usage')
  city(@City() city: CityScope, @Query({ schema: UsageQuery }) query: UsageQuery): Promise<UsageBody> {
    return this.usage.city(city, query.aggregate_only);
  }

  @Operation({
    id: 'get-session-usage',
    summary: 'Usage of a session',
    description: 'An addition: all that a session has used, over all its processes, also after it was closed.',
    tag,
    response: SessionUsageBody,
    problems: ['city_not_found', 'session_not_found', 'ambiguous'],
  })
  @Get('session/:id/usage')
  session(@City() city: CityScope, @Param('id', { schema: SessionParam }) id: string): Promise<SessionUsageBody> {
    return this.usage.session(city, id);
  }
}
