import { Module } from '@nestjs/common';
import { EventLogModule } from '../../../platform/event-log/event-log.module.js';
import { Firings } from './firings.service.js';
import { FiringsRepository } from './firings.repository.js';
import { OrderTimes } from './order-times.js';
import { DeliveriesRepository } from './webhooks/deliveries.repository.js';

/** Firing orders; for whoever fires one. */
@Module({
  imports: [EventLogModule],
  providers: [DeliveriesRepository, Firings, FiringsRepository, OrderTimes],
  exports: [DeliveriesRepository, Firings, FiringsRepository, OrderTimes],
})
export class OrdersCoreModule {}
