import { Module } from '@nestjs/common';
import { CitiesModule } from '../../tenancy/cities/cities.module.js';
import { WorkModule } from '../work/work.module.js';
import { DependenciesController } from './dependencies.controller.js';
import { DependenciesCoreModule } from './dependencies-core.module.js';
import { GraphRepository } from './graph.repository.js';
import { GraphService } from './graph.service.js';
import { NeighborhoodRepository } from './neighborhood.repository.js';

/** Edges between beads over HTTP. */
@Module({
  imports: [CitiesModule, DependenciesCoreModule, WorkModule],
  controllers: [DependenciesController],
  providers: [GraphRepository, GraphService, NeighborhoodRepository],
  exports: [DependenciesCoreModule],
})
export class DependenciesModule {}
