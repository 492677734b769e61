import { Controller, Get } from '@nestjs/common';
import type { Principal } from '../../../contract/principal.js';
import { Caller } from '../../../platform/http/caller.decorator.js';
import { Operation } from '../../../platform/http/operation.decorator.js';
import { SupervisorInfo } from './info.schemas.js';
import { InfoService } from './info.service.js';

@Controller('v0')
export class InfoController {
  constructor(private readonly info: InfoService) {}

  @Operation({
    id: 'get-info',
    summary: 'How the supervisor is set up',
    description:
      'An addition: who calls and what he may; for callers that are not limited to cities also the database, its schema, the queue and the processes.',
    tag: 'system',
    response: SupervisorInfo,
  })
  @Get('info')
  get(@Caller() caller: Principal): Promise<SupervisorInfo> {
    return this.info.info(caller);
  }
}
