import { Module } from '@nestjs/common';
import { CitiesModule } from '../cities/cities.module.js';
import { AdaptersController } from './adapters/adapters.controller.js';
import { AdaptersService } from './adapters/adapters.service.js';
import { CallbackAddress } from './adapters/callback-address.js';
import { BindingsController } from './bindings/bindings.controller.js';
import { DeliveriesController } from './deliveries/deliveries.controller.js';
import { DeliveriesService } from './deliveries/deliveries.service.js';
import { ExtmsgCoreModule } from './extmsg-core.module.js';
import { GroupsController } from './groups/groups.controller.js';
import { GroupsService } from './groups/groups.service.js';
import { InboundController } from './inbound/inbound.controller.js';
import { InboundService } from './inbound/inbound.service.js';
import { OutboundController } from './outbound/outbound.controller.js';
import { OutboundService } from './outbound/outbound.service.js';
import { PublicationWatch } from './outbound/publication-watch.js';
import { ExtmsgTranscriptController } from './transcript/transcript.controller.js';
import { TranscriptService } from './transcript/transcript.service.js';

/** External messaging over HTTP. */
@Module({
  imports: [CitiesModule, ExtmsgCoreModule],
  controllers: [
    AdaptersController,
    BindingsController,
    DeliveriesController,
    ExtmsgTranscriptController,
    GroupsController,
    InboundController,
    OutboundController,
  ],
  providers: [
    AdaptersService,
    CallbackAddress,
    DeliveriesService,
    GroupsService,
    InboundService,
    OutboundService,
    PublicationWatch,
    TranscriptService,
  ],
})
export class ExtmsgModule {}
