import { Module } from '@nestjs/common';
import { EventLogModule } from '../../../platform/event-log/event-log.module.js';
import { IdempotencyModule } from '../../../platform/idempotency/idempotency.module.js';
import { CitiesModule } from '../../tenancy/cities/cities.module.js';
import { ConfigCoreModule } from '../../configuration/config/config-core.module.js';
import { LaunchModule } from '../../sessions/launch/launch.module.js';
import { OpenFiringsRepository } from './open-firings.repository.js';
import { OrderRunsService } from './order-runs.service.js';
import { OrderSwitchesService } from './order-switches.service.js';
import { OrdersController } from './orders.controller.js';
import { OrdersCoreModule } from './orders-core.module.js';
import { OrdersRepository } from './orders.repository.js';
import { OrdersService } from './orders.service.js';
import { Rejections } from './webhooks/rejections.js';
import { WebhookReceiver } from './webhooks/webhook-receiver.service.js';
import { WebhooksService } from './webhooks/webhooks.service.js';

/** Orders over HTTP. */
@Module({
  imports: [CitiesModule, ConfigCoreModule, EventLogModule, IdempotencyModule, OrdersCoreModule, LaunchModule],
  controllers: [OrdersController],
  providers: [
    OpenFiringsRepository,
    OrderRunsService,
    OrderSwitchesService,
    OrdersRepository,
    OrdersService,
    Rejections,
    WebhookReceiver,
    WebhooksService,
  ],
})
export class OrdersModule {}
