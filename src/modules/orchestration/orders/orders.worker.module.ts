import { Module } from '@nestjs/common';
import { ConfigCoreModule } from '../../configuration/config/config-core.module.js';
import { EventLogModule } from '../../../platform/event-log/event-log.module.js';
import { LaunchModule } from '../../sessions/launch/launch.module.js';
import { LeaseTimings } from '../../sessions/launch/leased-work.js';
import { RosterModule } from '../../configuration/roster/roster.module.js';
import { RunsCoreModule } from '../runs/runs-core.module.js';
import { SessionTokensCoreModule } from '../../sessions/session-tokens/session-tokens-core.module.js';
import { WorkModule } from '../../work/work/work.module.js';
import { FormulaFirings } from './formula-firings.js';
import { OrderEvaluator } from './order-evaluator.js';
import { OrderHistory } from './order-history.js';
import { OrderHistoryRepository } from './order-history.repository.js';
import { OrderRunner } from './order-runner.js';
import { OrderSweeper } from './order-sweeper.js';
import { OrderSync } from './order-sync.js';
import { OrderSyncRepository } from './order-sync.repository.js';
import { OrdersCoreModule } from './orders-core.module.js';
import { OrdersReconciler } from './orders.reconciler.js';

/** What a worker does for orders: it fires those that are due, and runs their commands. */
@Module({
  imports: [
    ConfigCoreModule,
    EventLogModule,
    LaunchModule,
    OrdersCoreModule,
    RosterModule,
    RunsCoreModule,
    SessionTokensCoreModule,
    WorkModule,
  ],
  providers: [
    FormulaFirings,
    OrderEvaluator,
    OrderHistory,
    OrderHistoryRepository,
    OrderRunner,
    OrderSweeper,
    OrderSync,
    OrderSyncRepository,
    OrdersReconciler,
    { provide: LeaseTimings, useValue: new LeaseTimings() },
  ],
})
export class OrdersWorkerModule {}
