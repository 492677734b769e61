import { Controller, Get, Query } from '@nestjs/common';
import type { Principal } from '../../../contract/principal.js';
import { Caller } from '../../../platform/http/caller.decorator.js';
import { Operation } from '../../../platform/http/operation.decorator.js';
import { SearchOutputBody, SearchQuery } from './search.schemas.js';
import { SearchService } from './search.service.js';

/** Finds things by what people call them. */
@Controller('v0')
export class SearchController {
  constructor(private readonly searches: SearchService) {}

  @Operation({
    id: 'search',
    summary: 'Find cities, agents, sessions, beads and mail',
    description:
      'An addition: what the caller may see whose name is or begins with `q`, or whose title or subject has words that begin with those of `q`: all of them, of two letters at least. ' +
      'Closed sessions and archived mail are left out, and so is everything in cities that do not run. A key that is limited to cities finds what is among the newest 20,000 of each kind.',
    tag: 'cities',
    response: SearchOutputBody,
  })
  @Get('search')
  search(@Query({ schema: SearchQuery }) query: SearchQuery, @Caller() caller: Principal): Promise<SearchOutputBody> {
    return this.searches.search(query, caller);
  }
}
