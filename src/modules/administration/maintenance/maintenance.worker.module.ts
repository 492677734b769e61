import { Module } from '@nestjs/common';
import { EventLogModule } from '../../../platform/event-log/event-log.module.js';
import { ConfigCoreModule } from '../../configuration/config/config-core.module.js';
import { LaunchModule } from '../../sessions/launch/launch.module.js';
import { MailNoticesModule } from '../../work/mail/mail-notices.module.js';
import { RunsCoreModule } from '../../orchestration/runs/runs-core.module.js';
import { SessionsCoreModule } from '../../sessions/sessions/sessions-core.module.js';
import { WorkModule } from '../../work/work/work.module.js';
import { Cycle } from './cycle.js';
import { CycleRunner } from './cycle-runner.js';
import { Cycles } from './cycles.service.js';
import { Disk } from '../../../platform/disk/disk.js';
import { DiskWatch } from './disk-watch.js';
import { DiskWatchRepository } from './disk-watch.repository.js';
import { MaintenanceCoreModule } from './maintenance-core.module.js';
import { MaintenanceReconciler } from './maintenance.reconciler.js';
import { MaintenanceTimings } from './maintenance-timings.js';
import { Pruning } from './pruning.js';
import { SettingsSync } from './settings-sync.js';
import { SettingsSyncRepository } from './settings-sync.repository.js';
import { StoreLook } from './store-look.js';
import { StoreMetrics } from './store-metrics.js';
import { StoreRepository } from './store.repository.js';

/** What a worker does for the maintenance of cities. */
@Module({
  imports: [
    ConfigCoreModule,
    EventLogModule,
    LaunchModule,
    MailNoticesModule,
    MaintenanceCoreModule,
    RunsCoreModule,
    SessionsCoreModule,
    WorkModule,
  ],
  providers: [
    Cycle,
    CycleRunner,
    Cycles,
    Disk,
    DiskWatch,
    DiskWatchRepository,
    MaintenanceReconciler,
    Pruning,
    SettingsSync,
    SettingsSyncRepository,
    StoreLook,
    StoreMetrics,
    StoreRepository,
    { provide: MaintenanceTimings, useFactory: () => new MaintenanceTimings() },
  ],
})
export class MaintenanceWorkerModule {}
