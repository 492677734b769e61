import { describe, expect, it } from '@jest/globals';
import { loadConfig, type AppConfig } from '../../../platform/config/config.js';
import { Disk } from '../../../platform/disk/disk.js';
import { placesOf } from './places.js';

const MB = 2 ** 20;

describe('the folders of a process', () => {
  it('have their room and whether they can be written, and only where they are', async () => {
    const config = loadConfig(
      { SVC_DATA_DIR: '/proc', SVC_CITIES_ROOT: '/tmp', SVC_DISK_WARN_MB: '100', SVC_DISK_FLOOR_MB: '10' },
      '/',
    ) as AppConfig;
    const disk = new Disk(config);
    disk.freeAt = (directory) => Promise.resolve(directory === '/tmp' ? 50 * MB : 5 * MB);
    expect(await placesOf(config, disk)).toEqual([
      { place: 'cities', directory: '/tmp', free_bytes: 50 * MB, level: 'warn', writable: true },
      expect.objectContaining({ place: 'data', directory: '/proc', level: 'critical' }),
    ]);
    // Guard: somebody who is told that the disk of the database fills up asks for which folder it is.
    const found = await placesOf(config.with({ ownDatabaseDir: '/' }), disk);
    expect(found.map(({ place, level }) => [place, level])).toEqual([
      ['cities', 'warn'],
      ['data', 'critical'],
      ['database', 'critical'],
    ]);
    disk.freeAt = () => Promise.reject(new Error('gone'));
    expect(await placesOf(config, disk)).toEqual([]);
  });

  // Guard: a file system that does not answer keeps a thread for each look, and a process has four.
  it('are looked at once by all who ask meanwhile', async () => {
    const [one, other] = [new Disk({} as AppConfig), new Disk({} as AppConfig)];
    const asked = one.freeAt('/tmp');
    expect(other.freeAt('/tmp')).toBe(asked);
    await asked;
    expect(other.freeAt('/tmp')).not.toBe(asked);
  });
});
