import { Module } from '@nestjs/common';
import { EventLogModule } from '../../../platform/event-log/event-log.module.js';
import { UsageModule } from '../../sessions/usage/usage.module.js';
import { OverviewController } from './overview.controller.js';
import { OverviewRepository } from './overview.repository.js';
import { OverviewService } from './overview.service.js';

/** All cities in numbers, over HTTP. */
@Module({ imports: [EventLogModule, UsageModule], controllers: [OverviewController], providers: [OverviewRepository, OverviewService] })
export class OverviewModule {}
