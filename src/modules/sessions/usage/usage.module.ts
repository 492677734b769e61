import { Module } from '@nestjs/common';
import { CitiesModule } from '../../tenancy/cities/cities.module.js';
import { ConfigCoreModule } from '../../configuration/config/config-core.module.js';
import { SessionsCoreModule } from '../sessions/sessions-core.module.js';
import { CitiesUsageController } from './cities-usage.controller.js';
import { CitiesUsageRepository } from './cities-usage.repository.js';
import { CitiesUsageService } from './cities-usage.service.js';
import { UsageController } from './usage.controller.js';
import { UsageCoreModule } from './usage-core.module.js';
import { UsageRepository } from './usage.repository.js';
import { UsageSeriesRepository } from './usage-series.repository.js';
import { UsageSeriesService } from './usage-series.service.js';
import { UsageService } from './usage.service.js';

/** What sessions have used, over HTTP. */
@Module({
  imports: [CitiesModule, ConfigCoreModule, SessionsCoreModule, UsageCoreModule],
  controllers: [CitiesUsageController, UsageController],
  providers: [CitiesUsageRepository, CitiesUsageService, UsageRepository, UsageSeriesRepository, UsageSeriesService, UsageService],
  exports: [CitiesUsageService],
})
export class UsageModule {}
