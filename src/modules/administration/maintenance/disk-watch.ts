import { Injectable } from '@nestjs/common';
import { StoreDiskCritical, StoreDiskWarn } from '../../../contract/events/storage.events.js';
import { Transactions } from '../../../platform/database/transactions.js';
import { EventLog } from '../../../platform/event-log/event-log.js';
import { event, type NewEvent } from '../../../platform/event-log/event.js';
import { eachAlone } from '../../../platform/health/each-alone.js';
import { AppLogger } from '../../../platform/logging/logger.js';
import { SUPERVISOR } from './cycle-row.js';
import { Disk, type DiskLevel, type DiskState } from '../../../platform/disk/disk.js';
import { DiskWatchRepository, type WatchedCity } from './disk-watch.repository.js';

const EVERY_MS = 10 * 60_000;
const AT_ONCE = 100;
const RANK: Readonly<Record<DiskLevel, number>> = { ok: 0, warn: 1, critical: 2 };

/** Looks at the disks of cities with maintenance every ten minutes, and says on their logs when one has become fuller. */
@Injectable()
export class DiskWatch {
  constructor(
    private readonly repository: DiskWatchRepository,
    private readonly disk: Disk,
    private readonly transactions: Transactions,
    private readonly eventLog: EventLog,
    private readonly log: AppLogger,
  ) {}

  /** Answers at how many cities it has looked. */
  async look(signal?: AbortSignal): Promise<number> {
    const alone = { failed: 'a disk could not be looked at', about: ({ name: city }: WatchedCity) => ({ city }), signal };
    return eachAlone(await this.repository.take(AT_ONCE, EVERY_MS), this.log, alone, async (city) => {
      await this.note(city);
      return true;
    });
  }

  /** The level that the disk has now; what has changed is written. */
  async note(city: WatchedCity): Promise<DiskLevel> {
    const found = await this.disk.look(city.path, city.disk);
    if (found === undefined || found.level === city.disk) return city.disk;
    await this.transactions.run(
      async (tx) => {
        if (!(await this.repository.change(tx, city.streamId, city.disk, found.level))) return;
        if (RANK[found.level] > RANK[city.disk]) await this.eventLog.append(tx, [this.#event(city, found)]);
      },
      { key: city.name },
    );
    return found.level;
  }

  #event({ name, path }: WatchedCity, { level, directory: data_dir, free: free_bytes }: DiskState): NewEvent {
    const facts = { stream: name, actor: SUPERVISOR, subject: path };
    const { warn: warn_bytes, floor: floor_bytes } = this.disk.limits;
    return level === 'critical'
      ? event(StoreDiskCritical, { ...facts, payload: { free_bytes, floor_bytes, data_dir } })
      : event(StoreDiskWarn, { ...facts, payload: { free_bytes, warn_bytes, floor_bytes, data_dir } });
  }
}
