import { Injectable } from '@nestjs/common';
import { formatDuration, parseDuration } from '../../contract/duration.js';
import type { CityScope } from '../cities/city-scope.js';
import { MailSettingsRepository } from './mail-settings.repository.js';
import type { MailSettings } from './mail.schemas.js';

/** How long a city keeps mail that nobody reads; for ever unless it says otherwise. */
@Injectable()
export class MailSettingsService {
  constructor(private readonly repository: MailSettingsRepository) {}

  async get(city: CityScope): Promise<MailSettings> {
    const ms = await this.repository.unreadRetention(city.streamId);
    return { unread_retention: ms === undefined ? null : formatDuration(ms) };
  }

  async put(city: CityScope, { unread_retention: text }: MailSettings): Promise<MailSettings> {
    const ms = text === null ? undefined : parseDuration(text);
    await this.repository.setUnreadRetention(city.streamId, ms === undefined ? undefined : Math.round(ms));
    return this.get(city);
  }
}
