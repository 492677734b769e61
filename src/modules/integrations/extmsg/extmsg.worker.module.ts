import { Module } from '@nestjs/common';
import { LeaseTimings } from '../../sessions/launch/leased-work.js';
import { LaunchModule } from '../../sessions/launch/launch.module.js';
import { MemberSender } from './deliveries/member-sender.js';
import { ExtmsgCoreModule } from './extmsg-core.module.js';
import { Callback } from './outbound/callback.js';
import { Publisher } from './outbound/publisher.js';
import { ForClients } from './repair/for-clients.js';
import { ExtmsgRetention } from './repair/retention.js';
import { RetentionRepository } from './repair/retention.repository.js';

/** What a worker does for external messaging: it tells members, publishes, and forgets. */
@Module({
  imports: [ExtmsgCoreModule, LaunchModule],
  providers: [
    Callback,
    ExtmsgRetention,
    ForClients,
    MemberSender,
    Publisher,
    RetentionRepository,
    { provide: LeaseTimings, useValue: new LeaseTimings() },
  ],
})
export class ExtmsgWorkerModule {}
