import { Module } from '@nestjs/common';
import { IdempotencyModule } from '../../../platform/idempotency/idempotency.module.js';
import { CitiesModule } from '../../tenancy/cities/cities.module.js';
import { RosterModule } from '../../configuration/roster/roster.module.js';
import { WorkModule } from '../work/work.module.js';
import { WaitReadsService } from './wait-reads.service.js';
import { WaitsController } from './waits.controller.js';
import { WaitsRepository } from './waits.repository.js';
import { WaitsService } from './waits.service.js';

/** Durable waits over HTTP. What makes them ready runs in the transactions that close beads, in the work core. */
@Module({
  imports: [CitiesModule, IdempotencyModule, RosterModule, WorkModule],
  controllers: [WaitsController],
  providers: [WaitReadsService, WaitsRepository, WaitsService],
})
export class WaitsModule {}
