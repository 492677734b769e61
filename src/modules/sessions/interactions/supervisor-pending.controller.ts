import { Controller, Get, Query } from '@nestjs/common';
import type { Principal } from '../../../contract/principal.js';
import { Caller } from '../../../platform/http/caller.decorator.js';
import { Operation } from '../../../platform/http/operation.decorator.js';
import { SupervisorPendingOutputBody, SupervisorPendingQuery } from './interactions.schemas.js';
import { ResponsesService } from './responses.service.js';

/** Questions of all cities. */
@Controller('v0')
export class SupervisorPendingController {
  constructor(private readonly responses: ResponsesService) {}

  @Operation({
    id: 'list-all-pending',
    summary: 'List what waits for a person in every city',
    description:
      'An addition: the lists of the running cities that the caller may see in one, the oldest first, at most 1000 at once. ' +
      'A stream of the supervisor that begins at `event_cursor` tells what is opened and resolved from then on.',
    tag: 'sessions',
    response: SupervisorPendingOutputBody,
    problems: ['invalid_cursor'],
  })
  @Get('pending')
  list(
    @Query({ schema: SupervisorPendingQuery }) query: SupervisorPendingQuery,
    @Caller() caller: Principal,
  ): Promise<SupervisorPendingOutputBody> {
    return this.responses.everywhere(query, caller);
  }
}
