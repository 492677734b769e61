import { Module } from '@nestjs/common';
import { EventLogModule } from '../../../platform/event-log/event-log.module.js';
import { ConfigCoreModule } from '../../configuration/config/config-core.module.js';
import { LaunchModule } from '../../sessions/launch/launch.module.js';
import { HopListener } from './hop.js';
import { ServiceLeasesRepository } from './service-leases.repository.js';
import { ServiceLogs } from './service-logs.js';
import { ServiceProcesses } from './service-processes.js';
import { ServiceRunner } from './service-runner.js';
import { ServiceSync } from './service-sync.js';
import { ServiceSyncRepository } from './service-sync.repository.js';
import { ServiceTimings } from './service-timings.js';
import { ServicesCoreModule } from './services-core.module.js';

/** What a worker does for services: it follows what the files say of them, and has their processes. */
@Module({
  imports: [ConfigCoreModule, EventLogModule, LaunchModule, ServicesCoreModule],
  providers: [
    HopListener,
    ServiceLeasesRepository,
    ServiceLogs,
    ServiceProcesses,
    ServiceRunner,
    ServiceSync,
    ServiceSyncRepository,
    { provide: ServiceTimings, useFactory: () => new ServiceTimings() },
  ],
})
export class ServicesWorkerModule {}
