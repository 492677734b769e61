import { Module } from '@nestjs/common';
import { EventLogModule } from '../../platform/event-log/event-log.module.js';
import { Firings } from './firings.service.js';
import { FiringsRepository } from './firings.repository.js';
import { OrderTimes } from './order-times.js';

/** Firing orders; for whoever fires one. */
@Module({
  imports: [EventLogModule],
  providers: [Firings, FiringsRepository, OrderTimes],
  exports: [Firings, FiringsRepository, OrderTimes],
})
export class OrdersCoreModule {}
