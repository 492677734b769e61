import { Controller, Get, Query } from '@nestjs/common';
import type { Principal } from '../../../contract/principal.js';
import { CitiesUsageBody } from '../../../contract/usage.schemas.js';
import { Caller } from '../../../platform/http/caller.decorator.js';
import { Operation } from '../../../platform/http/operation.decorator.js';
import { CitiesUsageService } from './cities-usage.service.js';
import { CitiesUsageQuery } from './usage.schemas.js';

/** What all cities have used. */
@Controller('v0')
export class CitiesUsageController {
  constructor(private readonly usage: CitiesUsageService) {}

  @Operation({
    id: 'list-usage',
    summary: 'List what each city has used',
    description:
      'An addition: the usage of the registered cities that the caller may see, by name, a hundred at a time unless `limit` says so. ' +
      '`today` begins at midnight in the time zone of each city.',
    tag: 'usage',
    response: CitiesUsageBody,
  })
  @Get('usage')
  list(@Query({ schema: CitiesUsageQuery }) query: CitiesUsageQuery, @Caller() caller: Principal): Promise<CitiesUsageBody> {
    return this.usage.list(query, caller);
  }
}
