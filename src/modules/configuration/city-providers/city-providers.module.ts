import { Module } from '@nestjs/common';
import { CitiesModule } from '../../tenancy/cities/cities.module.js';
import { ConfigCoreModule } from '../config/config-core.module.js';
import { RunnerListModule } from '../../hosts/runner-list/runner-list.module.js';
import { CityProvidersController } from './city-providers.controller.js';
import { CityProvidersService } from './city-providers.service.js';

/** The providers of cities over HTTP. */
@Module({
  imports: [CitiesModule, ConfigCoreModule, RunnerListModule],
  controllers: [CityProvidersController],
  providers: [CityProvidersService],
})
export class CityProvidersModule {}
