import { Module } from '@nestjs/common';
import { CitiesModule } from '../../tenancy/cities/cities.module.js';
import { ConfigCoreModule } from '../../configuration/config/config-core.module.js';
import { SessionsCoreModule } from '../sessions/sessions-core.module.js';
import { UsageController } from './usage.controller.js';
import { UsageCoreModule } from './usage-core.module.js';
import { UsageRepository } from './usage.repository.js';
import { UsageService } from './usage.service.js';

/** What sessions have used, over HTTP. */
@Module({
  imports: [CitiesModule, ConfigCoreModule, SessionsCoreModule, UsageCoreModule],
  controllers: [UsageController],
  providers: [UsageRepository, UsageService],
})
export class UsageModule {}
