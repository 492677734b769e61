import { Module } from '@nestjs/common';
import { CitiesModule } from '../../tenancy/cities/cities.module.js';
import { WorkModule } from '../work/work.module.js';
import { DependenciesController } from './dependencies.controller.js';
import { DependenciesRepository } from './dependencies.repository.js';
import { DependenciesService } from './dependencies.service.js';
import { GraphRepository } from './graph.repository.js';
import { GraphService } from './graph.service.js';
import { NeighborhoodRepository } from './neighborhood.repository.js';

/** Edges between beads over HTTP, and the search for cycles for the families that make edges of their own. */
@Module({
  imports: [CitiesModule, WorkModule],
  controllers: [DependenciesController],
  providers: [DependenciesRepository, DependenciesService, GraphRepository, GraphService, NeighborhoodRepository],
  exports: [DependenciesService],
})
export class DependenciesModule {}
