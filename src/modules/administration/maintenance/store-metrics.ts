import { Injectable } from '@nestjs/common';
import { AppConfig } from '../../../platform/config/config.js';
import { Metrics } from '../../../platform/health/metrics.js';
import { Disk } from '../../../platform/disk/disk.js';
import { StoreRepository } from './store.repository.js';

/** Metrics of how full the store is. Cities tell it on their logs only when they have maintenance. */
@Injectable()
export class StoreMetrics {
  constructor(config: AppConfig, disk: Disk, store: StoreRepository, metrics: Metrics) {
    const { citiesRoot, dataDir, ownDatabaseDir } = config;
    const places: [place: string, directory: string][] = [
      ['cities', citiesRoot],
      ['data', dataDir],
    ];
    if (ownDatabaseDir !== undefined) places.push(['database', ownDatabaseDir]);
    const free = metrics.gauge({
      name: 'svc_disk_free_bytes',
      help: 'Free space where the files of cities are, and the data directory, and the database that it brings. Absent where that does not answer.',
      labelNames: ['place'],
      collect: async (): Promise<void> => {
        // At the same time: a volume that hangs hides neither the other nor what else is measured.
        const found = await Promise.all(
          places.map(async ([place, directory]) => [place, await metrics.known(`free in ${place}`, () => disk.freeOf(directory))] as const),
        );
        free.reset();
        for (const [place, bytes] of found) if (bytes !== undefined) free.set({ place }, bytes);
      },
    });
    const warnings = metrics.gauge({
      name: 'svc_store_warnings',
      help: 'Tables whose dead rows nobody cleans, as the last look at them has found.',
      collect: async (): Promise<void> => {
        const found = await metrics.known('warnings of the store', () => store.warnings());
        if (found !== undefined) warnings.set(found.length);
      },
    });
  }
}
