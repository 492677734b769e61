import { Module } from '@nestjs/common';
import { OperationsModule } from '../../../platform/operations/operations.module.js';
import { WaitingRequests } from '../../../platform/turns/waiting-requests.js';
import { ConfigCoreModule } from '../../configuration/config/config-core.module.js';
import { RosterModule } from '../../configuration/roster/roster.module.js';
import { SessionStoreModule } from '../../sessions/session-store/session-store.module.js';
import { CityCountsRepository } from './city-counts.repository.js';
import { CityCounts } from './city-counts.service.js';
import { CityStatusController } from './city-status.controller.js';
import { CityStatusRepository } from './city-status.repository.js';
import { CityStatusService } from './city-status.service.js';
import { WaitingWork } from './city-waiting.js';

/** What is going on in a city, over HTTP. Needs the streams room beside it in the root. */
@Module({
  imports: [ConfigCoreModule, SessionStoreModule, OperationsModule, RosterModule],
  controllers: [CityStatusController],
  providers: [CityCounts, CityCountsRepository, CityStatusRepository, CityStatusService, WaitingRequests, WaitingWork],
})
export class CityStatusModule {}
