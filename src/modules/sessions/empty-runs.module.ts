import { Module } from '@nestjs/common';
import { EmptyRunsRepository } from './empty-runs.repository.js';
import { EmptyRunsService } from './empty-runs.service.js';

/** For whoever starts members of pools, and whoever shows why nobody does. */
@Module({ providers: [EmptyRunsRepository, EmptyRunsService], exports: [EmptyRunsService] })
export class EmptyRunsModule {}
