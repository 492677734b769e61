import { afterEach, expect, it } from '@jest/globals';
import { readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { folder, removeFolders } from '../../test/support/folders.js';
import { loadConfig, type AppConfig } from '../platform/config/config.js';
import { Primary } from './processes/primary.js';
import type { Service } from './service.js';
import { Supervisor } from './supervisor.js';

afterEach(removeFolders);

// Guard: another database would be made in the place of the one that is moved aside, with no city and a new key.
it.each<[string, (config: AppConfig) => Service]>([
  ['one process', (config) => new Supervisor(config)],
  ['several processes', (config) => new Primary(config, 2)],
])('ends a start of %s before a database is made', async (_, serviceOf) => {
  const dataDir = await folder('svc-unfinished-');
  // As one leaves it that was killed before it has put the files of the database there.
  await writeFile(join(dataDir, 'restore-begun'), '');
  const service = serviceOf(loadConfig({ SVC_DATA_DIR: dataDir, SVC_PORT: '0', SVC_LOG_LEVEL: 'silent' }, '/'));
  await expect(service.start()).rejects.toThrow('a restore has not ended, or still runs');
  await service.stop();
  expect(await readdir(dataDir)).toEqual(['restore-begun']);
});
