import { Controller, Get, Query } from '@nestjs/common';
import { z } from 'zod';
import type { Principal } from '../../../contract/principal.js';
import { queryBool } from '../../../contract/query.js';
import { ListBodyRunner } from '../../../contract/runners.schemas.js';
import { Caller } from '../../../platform/http/caller.decorator.js';
import { Operation } from '../../../platform/http/operation.decorator.js';
import { RunnerListService } from './runner-list.service.js';

const RunnersQuery = z.strictObject({ all: queryBool().describe('Those that have ended, too.') });

@Controller('v0')
export class RunnerListController {
  constructor(private readonly runners: RunnerListService) {}

  @Operation({
    id: 'list-runners',
    needs: 'all-cities',
    plannedOnce: true,
    summary: 'List runners',
    description: 'An addition: the worker processes that run agents, with what they hold. Not for keys that are limited to cities.',
    tag: 'runners',
    response: ListBodyRunner,
    problems: ['forbidden'],
  })
  @Get('runners')
  list(@Caller() caller: Principal, @Query({ schema: RunnersQuery }) query: z.infer<typeof RunnersQuery>): Promise<ListBodyRunner> {
    return this.runners.list(caller, query.all);
  }
}
