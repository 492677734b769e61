import { Module } from '@nestjs/common';
import { EventLogModule } from '../../platform/event-log/event-log.module.js';
import { OperationsModule } from '../../platform/operations/operations.module.js';
import { ConfigCoreModule } from '../config/config-core.module.js';
import { PacksCoreModule } from '../packs/packs-core.module.js';
import { PoolsCoreModule } from '../pools/pools-core.module.js';
import { CitiesReconciler } from './cities.reconciler.js';
import { CityBringUp } from './city-bringup.js';
import { CityInitializer } from './city-initializer.js';
import { CityKeeper } from './city-keeper.js';
import { CityStateRepository } from './city-state.repository.js';
import { ReservationSweeper } from './reservation-sweeper.js';
import { ReservationsRepository } from './reservations.repository.js';

/** What a worker does for cities: their operations, the retries of those that failed, the remains of dead creators. */
@Module({
  imports: [EventLogModule, OperationsModule, ConfigCoreModule, PacksCoreModule, PoolsCoreModule],
  providers: [CitiesReconciler, CityBringUp, CityInitializer, CityKeeper, CityStateRepository, ReservationSweeper, ReservationsRepository],
})
export class CitiesWorkerModule {}
