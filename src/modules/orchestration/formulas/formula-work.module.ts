import { Module } from '@nestjs/common';
import { ThreadsModule } from '../../../platform/threads/threads.module.js';
import { ConfigCoreModule } from '../../configuration/config/config-core.module.js';
import { FormulaWork } from './formula-work.js';
import { RunCountsRepository } from './run-counts.repository.js';
import { RunCountsService } from './run-counts.service.js';

/** Compiling, and what is counted of formulas, for whoever shows or launches them. */
@Module({
  imports: [ConfigCoreModule, ThreadsModule],
  providers: [FormulaWork, RunCountsRepository, RunCountsService],
  exports: [FormulaWork, RunCountsService],
})
export class FormulaWorkModule {}
