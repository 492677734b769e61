import { Module } from '@nestjs/common';
import { CitiesModule } from '../../tenancy/cities/cities.module.js';
import { RunnerListModule } from '../../hosts/runner-list/runner-list.module.js';
import { ConfigCoreModule } from './config-core.module.js';
import { ConfigRequestsService } from './config-requests.service.js';
import { ConfigController } from './config.controller.js';

@Module({
  imports: [CitiesModule, ConfigCoreModule, RunnerListModule],
  controllers: [ConfigController],
  providers: [ConfigRequestsService],
})
export class ConfigHttpModule {}
