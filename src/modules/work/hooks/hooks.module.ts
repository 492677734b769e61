import { Module } from '@nestjs/common';
import { EventLogModule } from '../../../platform/event-log/event-log.module.js';
import { CitiesModule } from '../../tenancy/cities/cities.module.js';
import { WorkModule } from '../work/work.module.js';
import { ClaimCommitter } from './claim-committer.js';
import { ClaimsController } from './claims.controller.js';
import { ClaimsRepository } from './claims.repository.js';
import { ClaimsService } from './claims.service.js';
import { HooksController } from './hooks.controller.js';
import { HooksRepository } from './hooks.repository.js';
import { HooksService } from './hooks.service.js';

/** Claims, leases and hooks: how work finds the agent that does it. */
@Module({
  imports: [CitiesModule, EventLogModule, WorkModule],
  controllers: [ClaimsController, HooksController],
  providers: [ClaimCommitter, ClaimsRepository, ClaimsService, HooksRepository, HooksService],
})
export class HooksModule {}
