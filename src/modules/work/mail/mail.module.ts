import { Module } from '@nestjs/common';
import { OperationsModule } from '../../../platform/operations/operations.module.js';
import { CitiesModule } from '../../tenancy/cities/cities.module.js';
import { WorkModule } from '../work/work.module.js';
import { MailNoticesModule } from './mail-notices.module.js';
import { MailBroadcastsRepository } from './mail-broadcasts.repository.js';
import { MailBroadcasts } from './mail-broadcasts.service.js';
import { MailListsRepository } from './mail-lists.repository.js';
import { MailReadingService } from './mail-reading.service.js';
import { MailSendingController } from './mail-sending.controller.js';
import { MailSettingsController } from './mail-settings.controller.js';
import { MailSettingsRepository } from './mail-settings.repository.js';
import { MailSettingsService } from './mail-settings.service.js';
import { MailController } from './mail.controller.js';
import { MailService } from './mail.service.js';

/** The mail of cities over HTTP. Needs the streams room beside it in the root. */
@Module({
  imports: [CitiesModule, MailNoticesModule, OperationsModule, WorkModule],
  controllers: [MailController, MailSendingController, MailSettingsController],
  providers: [
    MailBroadcasts,
    MailBroadcastsRepository,
    MailListsRepository,
    MailReadingService,
    MailService,
    MailSettingsRepository,
    MailSettingsService,
  ],
})
export class MailModule {}
