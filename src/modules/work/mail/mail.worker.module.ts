import { Module } from '@nestjs/common';
import { OperationsModule } from '../../../platform/operations/operations.module.js';
import { ConfigCoreModule } from '../../configuration/config/config-core.module.js';
import { WorkModule } from '../work/work.module.js';
import { MailBroadcastsReconciler } from './mail-broadcasts.reconciler.js';
import { MailBroadcastsRepository } from './mail-broadcasts.repository.js';
import { MailNoticesModule } from './mail-notices.module.js';
import { MailRetention } from './mail-retention.js';
import { MailRetentionRepository } from './mail-retention.repository.js';
import { MailSync } from './mail-sync.js';

@Module({
  imports: [ConfigCoreModule, MailNoticesModule, OperationsModule, WorkModule],
  providers: [MailBroadcastsReconciler, MailBroadcastsRepository, MailRetention, MailRetentionRepository, MailSync],
})
export class MailWorkerModule {}
