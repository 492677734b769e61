import { Controller, Get, Query } from '@nestjs/common';
import type { Principal } from '../../../contract/principal.js';
import { Caller } from '../../../platform/http/caller.decorator.js';
import { Operation } from '../../../platform/http/operation.decorator.js';
import { OverviewOutputBody, OverviewQuery } from './overview.schemas.js';
import { OverviewService } from './overview.service.js';

/** All cities in one answer. */
@Controller('v0')
export class OverviewController {
  constructor(private readonly overviews: OverviewService) {}

  @Operation({
    id: 'get-overview',
    summary: 'All cities in numbers',
    description:
      'An addition: what the status of each registered city counts that the caller may see, by name, a hundred at a time unless `limit` says so, and on the first page all of them together. ' +
      'A stream of the supervisor that begins at `event_cursor` tells what changes from then on.',
    tag: 'cities',
    response: OverviewOutputBody,
  })
  @Get('overview')
  overview(@Query({ schema: OverviewQuery }) query: OverviewQuery, @Caller() caller: Principal): Promise<OverviewOutputBody> {
    return this.overviews.overview(query, caller);
  }
}
