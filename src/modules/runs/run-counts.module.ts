import { Module } from '@nestjs/common';
import { RunCountsService } from './run-counts.service.js';
import { RunReadsRepository } from './run-reads.repository.js';

/** What other families tell of runs. */
@Module({ providers: [RunCountsService, RunReadsRepository], exports: [RunCountsService, RunReadsRepository] })
export class RunCountsModule {}
