import { Module } from '@nestjs/common';
import { EventLogModule } from '../../../platform/event-log/event-log.module.js';
import { OperationsModule } from '../../../platform/operations/operations.module.js';
import { ConfigCoreModule } from '../../configuration/config/config-core.module.js';
import { PacksCoreModule } from '../../configuration/packs/packs-core.module.js';
import { PoolsCoreModule } from '../../runners/pools/pools-core.module.js';
import { BringUpReconciler } from './bring-up.reconciler.js';
import { CityBringUp } from './city-bringup.js';
import { CityInitializer } from './city-initializer.js';
import { CityKeeper, KeeperTimings } from './city-keeper.js';
import { CityStateRepository } from './city-state.repository.js';

/** What makes cities run and end: their operations, and the retries of those that failed. */
@Module({
  imports: [EventLogModule, OperationsModule, ConfigCoreModule, PacksCoreModule, PoolsCoreModule],
  providers: [
    BringUpReconciler,
    CityBringUp,
    CityInitializer,
    CityKeeper,
    CityStateRepository,
    { provide: KeeperTimings, useFactory: () => new KeeperTimings() },
  ],
})
export class BringUpWorkerModule {}
