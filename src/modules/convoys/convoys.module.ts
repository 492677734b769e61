import { Module } from '@nestjs/common';
import { IdempotencyModule } from '../../platform/idempotency/idempotency.module.js';
import { CitiesModule } from '../cities/cities.module.js';
import { WorkModule } from '../work/work.module.js';
import { ConvoyReadsService } from './convoy-reads.service.js';
import { ConvoysController } from './convoys.controller.js';
import { ConvoysRepository } from './convoys.repository.js';
import { ConvoysService } from './convoys.service.js';

/** Convoys over HTTP; exports `ConvoysService` for whoever makes convoys of its own. Needs the streams room beside it in the root. */
@Module({
  imports: [CitiesModule, IdempotencyModule, WorkModule],
  controllers: [ConvoysController],
  providers: [ConvoysRepository, ConvoysService, ConvoyReadsService],
  exports: [ConvoysService],
})
export class ConvoysModule {}
