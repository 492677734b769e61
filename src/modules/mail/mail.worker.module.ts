import { Module } from '@nestjs/common';
import { WorkModule } from '../work/work.module.js';
import { MailNoticesModule } from './mail-notices.module.js';
import { MailRetention } from './mail-retention.js';
import { MailRetentionRepository } from './mail-retention.repository.js';

@Module({ imports: [MailNoticesModule, WorkModule], providers: [MailRetention, MailRetentionRepository] })
export class MailWorkerModule {}
