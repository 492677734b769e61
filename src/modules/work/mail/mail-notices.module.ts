import { Module } from '@nestjs/common';
import { IdempotencyModule } from '../../../platform/idempotency/idempotency.module.js';
import { RosterModule } from '../../configuration/roster/roster.module.js';
import { WorkModule } from '../work/work.module.js';
import { ConvoyNotices } from './convoy-notices.js';
import { MailAddresses } from './mail-addresses.service.js';
import { MailSendingService } from './mail-sending.service.js';
import { MailRepository } from './mail.repository.js';

/** Sending, and the notices that follow from work: in every process that writes work, once. */
@Module({
  imports: [IdempotencyModule, RosterModule, WorkModule],
  providers: [ConvoyNotices, MailAddresses, MailRepository, MailSendingService],
  exports: [MailAddresses, MailRepository, MailSendingService],
})
export class MailNoticesModule {}
