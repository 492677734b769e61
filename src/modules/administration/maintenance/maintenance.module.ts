import { Module } from '@nestjs/common';
import { CitiesModule } from '../../tenancy/cities/cities.module.js';
import { ConfigCoreModule } from '../../configuration/config/config-core.module.js';
import { MaintenanceController } from './maintenance.controller.js';
import { MaintenanceCoreModule } from './maintenance-core.module.js';
import { MaintenanceService } from './maintenance.service.js';

/** Maintenance over HTTP. */
@Module({
  imports: [CitiesModule, ConfigCoreModule, MaintenanceCoreModule],
  controllers: [MaintenanceController],
  providers: [MaintenanceService],
})
export class MaintenanceModule {}
