import { Module } from '@nestjs/common';
import { CitiesModule } from '../../tenancy/cities/cities.module.js';
import { AdaptersController } from './adapters/adapters.controller.js';
import { AdaptersService } from './adapters/adapters.service.js';
import { CallbackAddress } from './adapters/callback-address.js';
import { BindingsController } from './bindings/bindings.controller.js';
import { AcksService } from './connected/acks.service.js';
import { ConnectedController } from './connected/connected.controller.js';
import { ConnectionHub } from './connected/connection-hub.js';
import { ConnectionsRepository } from './connected/connections.repository.js';
import { ConnectionsService } from './connected/connections.service.js';
import { OffersRepository } from './connected/offers.repository.js';
import { Offers } from './connected/offers.service.js';
import { DeliveriesController } from './deliveries/deliveries.controller.js';
import { DeliveriesService } from './deliveries/deliveries.service.js';
import { ExtmsgCoreModule } from './extmsg-core.module.js';
import { GroupsController } from './groups/groups.controller.js';
import { GroupsService } from './groups/groups.service.js';
import { InboundCommitter } from './inbound/inbound-committer.js';
import { InboundController } from './inbound/inbound.controller.js';
import { InboundRepository } from './inbound/inbound.repository.js';
import { InboundService } from './inbound/inbound.service.js';
import { OutboundController } from './outbound/outbound.controller.js';
import { OutboundService } from './outbound/outbound.service.js';
import { PublicationWatch } from './outbound/publication-watch.js';
import { ExtmsgTranscriptController } from './transcript/transcript.controller.js';
import { TranscriptService } from './transcript/transcript.service.js';

/** External messaging over HTTP. Needs the streams room beside it in the root. */
@Module({
  imports: [CitiesModule, ExtmsgCoreModule],
  controllers: [
    AdaptersController,
    BindingsController,
    ConnectedController,
    DeliveriesController,
    ExtmsgTranscriptController,
    GroupsController,
    InboundController,
    OutboundController,
  ],
  providers: [
    AcksService,
    AdaptersService,
    CallbackAddress,
    ConnectionHub,
    ConnectionsRepository,
    ConnectionsService,
    DeliveriesService,
    GroupsService,
    InboundCommitter,
    InboundRepository,
    InboundService,
    Offers,
    OffersRepository,
    OutboundService,
    PublicationWatch,
    TranscriptService,
  ],
})
export class ExtmsgModule {}
