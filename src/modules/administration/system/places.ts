import { constants } from 'node:fs';
import { access } from 'node:fs/promises';
import type { AppConfig } from '../../../platform/config/config.js';
import { Disk, levelOf } from '../../../platform/disk/disk.js';
import type { SupervisorInfo } from './info.schemas.js';

type Place = NonNullable<SupervisorInfo['deployment']>['places'][number];

/** The folders of this process, without those that are not there or do not answer. */
export async function placesOf(config: AppConfig, disk = new Disk(config)): Promise<Place[]> {
  const named: [place: Place['place'], directory: string][] = [
    ['cities', config.citiesRoot],
    ['data', config.dataDir],
  ];
  // It may be on a disk of its own.
  if (config.ownDatabaseDir !== undefined) named.push(['database', config.ownDatabaseDir]);
  const found = await Promise.all(
    named.map(async ([place, directory]): Promise<Place[]> => {
      const free = await disk.freeOf(directory);
      if (free === undefined) return [];
      const writable = await access(directory, constants.W_OK).then(
        () => true,
        () => false,
      );
      return [{ place, directory, free_bytes: free, level: levelOf(free, 'ok', disk.limits), writable }];
    }),
  );
  return found.flat();
}
