import { Module } from '@nestjs/common';
import { ConfigCoreModule } from '../../configuration/config/config-core.module.js';
import { WorkModule } from '../work/work.module.js';
import { MailNoticesModule } from './mail-notices.module.js';
import { MailRetention } from './mail-retention.js';
import { MailRetentionRepository } from './mail-retention.repository.js';
import { MailSync } from './mail-sync.js';

@Module({ imports: [ConfigCoreModule, MailNoticesModule, WorkModule], providers: [MailRetention, MailRetentionRepository, MailSync] })
export class MailWorkerModule {}
