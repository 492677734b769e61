import { Module } from '@nestjs/common';
import { EventLogModule } from '../../../platform/event-log/event-log.module.js';
import { IdempotencyModule } from '../../../platform/idempotency/idempotency.module.js';
import { OutgoingModule } from '../../../platform/outgoing/outgoing.module.js';
import { ConfigCoreModule } from '../../configuration/config/config-core.module.js';
import { MessagesCoreModule } from '../../sessions/messages/messages-core.module.js';
import { SessionsCoreModule } from '../../sessions/sessions/sessions-core.module.js';
import { AdapterTokensModule } from './adapters/adapter-tokens.module.js';
import { BindingsRepository } from './bindings/bindings.repository.js';
import { BindingsService } from './bindings/bindings.service.js';
import { Targets } from './bindings/targets.service.js';
import { ConversationsRepository } from './conversations/conversations.repository.js';
import { DeliveriesRepository } from './deliveries/deliveries.repository.js';
import { MemberDeliveries } from './deliveries/member-deliveries.js';
import { TellingService } from './deliveries/telling.service.js';
import { ExtmsgTimings } from './extmsg-timings.js';
import { GroupsRepository } from './groups/groups.repository.js';
import { MembershipsRepository } from './groups/memberships.repository.js';
import { ForClientsRepository } from './outbound/for-clients.repository.js';
import { PublicationEnds } from './outbound/publication-ends.js';
import { PublicationsRepository } from './outbound/publications.repository.js';
import { SessionEndings } from './repair/session-endings.js';
import { TranscriptRepository } from './transcript/transcript.repository.js';

const SHARED = [
  BindingsRepository,
  BindingsService,
  ConversationsRepository,
  DeliveriesRepository,
  ForClientsRepository,
  GroupsRepository,
  MembershipsRepository,
  PublicationEnds,
  PublicationsRepository,
  Targets,
  TellingService,
  TranscriptRepository,
  { provide: ExtmsgTimings, useValue: new ExtmsgTimings() },
];

/** What requests and workers share, and what every process that changes sessions settles for conversations. */
@Module({
  imports: [
    AdapterTokensModule,
    ConfigCoreModule,
    EventLogModule,
    IdempotencyModule,
    MessagesCoreModule,
    OutgoingModule,
    SessionsCoreModule,
  ],
  providers: [...SHARED, MemberDeliveries, SessionEndings],
  exports: [
    ...SHARED,
    AdapterTokensModule,
    ConfigCoreModule,
    EventLogModule,
    IdempotencyModule,
    MessagesCoreModule,
    OutgoingModule,
    SessionsCoreModule,
  ],
})
export class ExtmsgCoreModule {}
