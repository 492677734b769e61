import { Module } from '@nestjs/common';
import { EventLogModule } from '../../../platform/event-log/event-log.module.js';
import { IdempotencyModule } from '../../../platform/idempotency/idempotency.module.js';
import { OperationsModule } from '../../../platform/operations/operations.module.js';
import { DirectoriesModule } from '../../files/directories/directories.module.js';
import { ProvidersModule } from '../../hosts/providers/providers.module.js';
import { RunnerListModule } from '../../hosts/runner-list/runner-list.module.js';
import { CitiesController } from './cities.controller.js';
import { CitiesRepository } from './cities.repository.js';
import { CitiesService } from './cities.service.js';
import { CityConflicts } from './city-conflicts.js';
import { CityCreationService } from './city-creation.service.js';
import { CityDirectories } from './city-directory.js';
import { CityLifecycleController } from './city-lifecycle.controller.js';
import { CityLifecycleService } from './city-lifecycle.service.js';
import { CityRegistrationService } from './city-registration.service.js';
import { ReservationsRepository } from './reservations.repository.js';

/** The registry over HTTP. Other families import this module for `CitiesService` and `@City()`. */
@Module({
  imports: [DirectoriesModule, EventLogModule, IdempotencyModule, OperationsModule, ProvidersModule, RunnerListModule],
  controllers: [CitiesController, CityLifecycleController],
  providers: [
    CitiesRepository,
    CitiesService,
    CityConflicts,
    CityCreationService,
    CityDirectories,
    CityLifecycleService,
    CityRegistrationService,
    ReservationsRepository,
  ],
  exports: [CitiesService],
})
export class CitiesModule {}
