import { Injectable } from '@nestjs/common';
import type { Follower } from '../../configuration/config/follower.js';
import { Following } from '../../configuration/config/following.js';
import { maintenanceSettings, nextAfter, type MaintenanceSettings } from './settings.js';
import { SettingsSyncRepository, type Followed } from './settings-sync.repository.js';

/** Follows what the files of cities say of their maintenance. */
@Injectable()
export class SettingsSync {
  readonly #follower: Follower = {
    table: 'maintenance_cities',
    what: 'what a city says of its maintenance',
    follow: async (tx, { streamId }, { config }) => {
      const before = await this.repository.followed(tx, streamId);
      const settings = maintenanceSettings(config);
      await this.repository.save(tx, streamId, settings, nextOf(before, settings));
    },
  };

  constructor(
    private readonly repository: SettingsSyncRepository,
    private readonly following: Following,
  ) {}

  /** Answers how many cities were followed. */
  follow(signal?: AbortSignal): Promise<number> {
    return this.following.rareTurn(this.#follower, signal);
  }
}

function nextOf({ settings, nextAt, last, busy, now }: Followed, after: MaintenanceSettings | undefined): Date | null {
  if (after === undefined || busy) return null;
  // What has not changed keeps its time: each edit of the files would put it off otherwise.
  if (settings?.intervalMs === after.intervalMs && nextAt !== null) return nextAt;
  return nextAfter(after, last ?? undefined, now);
}
