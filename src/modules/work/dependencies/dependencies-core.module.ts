import { Module } from '@nestjs/common';
import { WorkModule } from '../work/work.module.js';
import { DependenciesRepository } from './dependencies.repository.js';
import { DependenciesService } from './dependencies.service.js';

/** Edges between beads, and the search for cycles for the families that make edges of their own. */
@Module({
  imports: [WorkModule],
  providers: [DependenciesRepository, DependenciesService],
  exports: [DependenciesRepository, DependenciesService],
})
export class DependenciesCoreModule {}
