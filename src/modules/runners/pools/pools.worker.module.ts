import { Module } from '@nestjs/common';
import { WorkModule } from '../../work/work/work.module.js';
import { PoolsCoreModule } from './pools-core.module.js';
import { PoolsReconciler } from './pools.reconciler.js';
import { WaitDelivery } from './wait-delivery.js';
import { WaitDeliveryRepository } from './wait-delivery.repository.js';

/** What a worker does to have the sessions that cities need, and no others. */
@Module({ imports: [PoolsCoreModule, WorkModule], providers: [PoolsReconciler, WaitDelivery, WaitDeliveryRepository] })
export class PoolsWorkerModule {}
