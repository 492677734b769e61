import { Body, Controller, Get, Put } from '@nestjs/common';
import { Operation } from '../../../platform/http/operation.decorator.js';
import type { CityScope } from '../../tenancy/cities/city-scope.js';
import { City } from '../../tenancy/cities/city.decorator.js';
import { MailSettingsService } from './mail-settings.service.js';
import { MailSettings } from './mail.schemas.js';

@Controller('v0/city/:cityName/mail/settings')
export class MailSettingsController {
  constructor(private readonly settings: MailSettingsService) {}

  @Operation({
    id: 'get-mail-settings',
    summary: 'Read how long unread mail is kept',
    description: 'Null: for ever.',
    tag: 'mail',
    response: MailSettings,
    problems: ['city_not_found'],
  })
  @Get()
  get(@City() city: CityScope): Promise<MailSettings> {
    return this.settings.get(city);
  }

  @Operation({
    id: 'set-mail-settings',
    needs: 'configure',
    example: { unread_retention: '720h' },
    summary: 'Say how long unread mail is kept',
    description: 'Counts for mail that is there, too.',
    tag: 'mail',
    response: MailSettings,
    problems: ['city_not_found'],
  })
  @Put()
  put(@City() city: CityScope, @Body({ schema: MailSettings }) body: MailSettings): Promise<MailSettings> {
    return this.settings.put(city, body);
  }
}
