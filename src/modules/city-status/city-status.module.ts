import { Module } from '@nestjs/common';
import { CitiesModule } from '../cities/cities.module.js';
import { ConfigCoreModule } from '../config/config-core.module.js';
import { SuspensionModule } from '../launch/suspension.module.js';
import { RosterModule } from '../roster/roster.module.js';
import { CityStatusController } from './city-status.controller.js';
import { CityStatusRepository } from './city-status.repository.js';
import { CityStatusService } from './city-status.service.js';

/** What is going on in a city, over HTTP: beside the registry, since it knows the configuration. */
@Module({
  imports: [CitiesModule, ConfigCoreModule, RosterModule, SuspensionModule],
  controllers: [CityStatusController],
  providers: [CityStatusRepository, CityStatusService],
})
export class CityStatusModule {}
