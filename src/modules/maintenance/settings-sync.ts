import { Injectable } from '@nestjs/common';
import { Transactions } from '../../platform/database/transactions.js';
import { AppLogger } from '../../platform/logging/logger.js';
import { ConfigReadsService } from '../config/config-reads.service.js';
import { maintenanceSettings, nextAfter, type MaintenanceSettings } from './settings.js';
import { SettingsSyncRepository, type Followed, type UnsyncedCity } from './settings-sync.repository.js';

const AT_ONCE = 50;

/** Follows what the files of cities say of their maintenance: any worker does, once a revision. */
@Injectable()
export class SettingsSync {
  constructor(
    private readonly repository: SettingsSyncRepository,
    private readonly config: ConfigReadsService,
    private readonly transactions: Transactions,
    private readonly log: AppLogger,
  ) {}

  /** Answers how many cities were followed. */
  async follow(signal?: AbortSignal): Promise<number> {
    let followed = 0;
    for (const city of await this.repository.unsynced(AT_ONCE)) {
      if (signal?.aborted === true) break;
      try {
        await this.#followCity(city);
        followed++;
      } catch (error) {
        this.log.warn({ err: error, city: city.name }, 'what a city says of its maintenance could not be read; the next turn tries again');
      }
    }
    return followed;
  }

  async #followCity(city: UnsyncedCity): Promise<void> {
    await this.transactions.run(
      async (tx) => {
        const before = await this.repository.lock(tx, city.streamId);
        if (before === undefined) return;
        const current = await this.config.known(city, tx);
        if (current === undefined) return;
        const settings = maintenanceSettings(current.config);
        await this.repository.save(tx, city.streamId, current.revision, settings, nextOf(before, settings));
      },
      { key: city.name },
    );
  }
}

function nextOf({ settings, nextAt, last, busy, now }: Followed, after: MaintenanceSettings | undefined): Date | null {
  if (after === undefined || busy) return null;
  // What has not changed keeps its time: each edit of the files would put it off otherwise.
  if (settings?.intervalMs === after.intervalMs && nextAt !== null) return nextAt;
  return nextAfter(after, last ?? undefined, now);
}
