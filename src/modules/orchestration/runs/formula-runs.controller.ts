import { Controller, Get, Param, Query } from '@nestjs/common';
import { Operation } from '../../../platform/http/operation.decorator.js';
import { City } from '../../tenancy/cities/city.decorator.js';
import type { CityScope } from '../../tenancy/cities/city-scope.js';
import { FormulaNameParam } from '../formulas/formulas.schemas.js';
import { FormulaFeedBody, FormulaFeedQuery, FormulaRunsQuery, FormulaRunsResponse } from './formula-runs.schemas.js';
import { FormulaRunsService } from './formula-runs.service.js';

const SCOPED = ['city_not_found', 'invalid_request', 'scope_not_found', 'unavailable'] as const;

@Controller('v0/city/:cityName/formulas')
export class FormulaRunsController {
  constructor(private readonly runs: FormulaRunsService) {}

  @Operation({
    tag: 'formulas',
    id: 'get-v0-city-by-city-name-formulas-feed',
    name: 'list-formula-feed',
    summary: 'List the graphs that a city or rig runs',
    description: 'Active ones first, then pending, failed, done and skipped ones; the one that changed last is the first of each.',
    response: FormulaFeedBody,
    problems: [...SCOPED],
  })
  @Get('feed')
  feed(@City() city: CityScope, @Query({ schema: FormulaFeedQuery }) query: FormulaFeedQuery): Promise<FormulaFeedBody> {
    return this.runs.feed(city, query);
  }

  @Operation({
    tag: 'formulas',
    id: 'get-v0-city-by-city-name-formulas-by-name-runs',
    name: 'list-formula-runs',
    summary: 'Count the runs of a formula, and list the newest',
    description: 'Those of the city or of the rig that `scope_kind` and `scope_ref` name.',
    response: FormulaRunsResponse,
    problems: [...SCOPED, 'formula_not_found'],
  })
  @Get(':name/runs')
  list(
    @City() city: CityScope,
    @Param('name', { schema: FormulaNameParam }) name: string,
    @Query({ schema: FormulaRunsQuery }) query: FormulaRunsQuery,
  ): Promise<FormulaRunsResponse> {
    return this.runs.runs(city, name, query);
  }
}
