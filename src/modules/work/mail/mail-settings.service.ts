import { Injectable } from '@nestjs/common';
import { formatDuration, parseDuration } from '../../../contract/duration.js';
import { Transactions } from '../../../platform/database/transactions.js';
import type { CityScope } from '../../tenancy/cities/city-scope.js';
import { MailSettingsRepository } from './mail-settings.repository.js';
import type { MailSettings } from './mail.schemas.js';

/** How long a city keeps mail that nobody reads; for ever unless it says otherwise. */
@Injectable()
export class MailSettingsService {
  constructor(
    private readonly repository: MailSettingsRepository,
    private readonly transactions: Transactions,
  ) {}

  async get(city: CityScope): Promise<MailSettings> {
    const ms = await this.repository.unreadRetention(city.streamId);
    return { unread_retention: ms === undefined ? null : formatDuration(ms) };
  }

  async put(city: CityScope, { unread_retention: text }: MailSettings): Promise<MailSettings> {
    const ms = text === null ? undefined : parseDuration(text);
    const kept = ms === undefined ? undefined : Math.round(ms);
    await this.transactions.run((tx) => this.repository.setUnreadRetention(tx, city.streamId, kept), { key: city.name });
    return this.get(city);
  }
}
