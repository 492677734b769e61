import { Module } from '@nestjs/common';
import { IdempotencyModule } from '../../platform/idempotency/idempotency.module.js';
import { CitiesModule } from '../cities/cities.module.js';
import { RosterModule } from '../roster/roster.module.js';
import { WorkModule } from '../work/work.module.js';
import { MailAddresses } from './mail-addresses.service.js';
import { MailListsRepository } from './mail-lists.repository.js';
import { MailReadingService } from './mail-reading.service.js';
import { MailSendingController } from './mail-sending.controller.js';
import { MailSendingService } from './mail-sending.service.js';
import { MailSettingsController } from './mail-settings.controller.js';
import { MailSettingsRepository } from './mail-settings.repository.js';
import { MailSettingsService } from './mail-settings.service.js';
import { MailController } from './mail.controller.js';
import { MailRepository } from './mail.repository.js';
import { MailService } from './mail.service.js';

/** The mail of cities over HTTP. Needs the streams room beside it in the root. */
@Module({
  imports: [CitiesModule, IdempotencyModule, RosterModule, WorkModule],
  controllers: [MailController, MailSendingController, MailSettingsController],
  providers: [
    MailAddresses,
    MailListsRepository,
    MailReadingService,
    MailRepository,
    MailSendingService,
    MailService,
    MailSettingsRepository,
    MailSettingsService,
  ],
})
export class MailModule {}
