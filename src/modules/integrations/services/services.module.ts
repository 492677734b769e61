import { Module } from '@nestjs/common';
import { EventLogModule } from '../../../platform/event-log/event-log.module.js';
import { IdempotencyModule } from '../../../platform/idempotency/idempotency.module.js';
import { CitiesModule } from '../../tenancy/cities/cities.module.js';
import { ForwardLimits } from './proxy/forward-places.js';
import { Forwarding } from './proxy/forwarding.js';
import { Owners } from './proxy/owner-agent.js';
import { ServiceProxy } from './proxy/service-proxy.js';
import { ServiceRoutes } from './proxy/service-routes.js';
import { ServiceLogHub } from './service-log-hub.js';
import { ServiceLogStreams } from './service-log-streams.service.js';
import { ServicesController } from './services.controller.js';
import { ServicesCoreModule } from './services-core.module.js';
import { ServicesRepository } from './services.repository.js';
import { ServicesService } from './services.service.js';

/** Services over HTTP, and what is served by them. */
@Module({
  imports: [CitiesModule, EventLogModule, IdempotencyModule, ServicesCoreModule],
  controllers: [ServicesController],
  providers: [
    Forwarding,
    Owners,
    ServiceLogHub,
    ServiceLogStreams,
    ServiceProxy,
    ServiceRoutes,
    ServicesRepository,
    ServicesService,
    { provide: ForwardLimits, useFactory: () => new ForwardLimits() },
  ],
})
export class ServicesModule {}
