import { Module } from '@nestjs/common';
import { WorkModule } from '../work/work.module.js';
import { WaitExpiryRepository } from './wait-expiry.repository.js';
import { WaitsReconciler } from './waits.reconciler.js';

/** What a worker does for waits: it ends those whose time has run out. */
@Module({ imports: [WorkModule], providers: [WaitExpiryRepository, WaitsReconciler] })
export class WaitsWorkerModule {}
