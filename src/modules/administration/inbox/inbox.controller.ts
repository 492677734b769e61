import { Controller, Get, Query } from '@nestjs/common';
import type { Principal } from '../../../contract/principal.js';
import { Caller } from '../../../platform/http/caller.decorator.js';
import { Operation } from '../../../platform/http/operation.decorator.js';
import { InboxOutputBody, InboxQuery } from './inbox.schemas.js';
import { InboxService } from './inbox.service.js';

/** What waits for people beside the questions of sessions. */
@Controller('v0')
export class InboxController {
  constructor(private readonly inbox: InboxService) {}

  @Operation({
    id: 'get-inbox',
    summary: 'List what waits for people in every city',
    description:
      'An addition: beads of running cities that are assigned to `human` and that nothing holds up, and messages to `human` that were not read, the oldest first, ' +
      'a hundred at a time unless `limit` says so. What sessions ask is in `GET /v0/pending`. `rejected` has cities whose files cannot be used.',
    tag: 'cities',
    response: InboxOutputBody,
    problems: ['invalid_cursor'],
  })
  @Get('inbox')
  list(@Query({ schema: InboxQuery }) query: InboxQuery, @Caller() caller: Principal): Promise<InboxOutputBody> {
    return this.inbox.list(query, caller);
  }
}
