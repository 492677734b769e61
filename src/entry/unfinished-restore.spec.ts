import { afterEach, expect, it } from '@jest/globals';
import { mkdir, readdir, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { folder, removeFolders } from '../../test/support/folders.js';
import { loadConfig, type AppConfig } from '../platform/config/config.js';
import { keepEpoch, knownEpoch } from './known-epoch.js';
import { Primary } from './processes/primary.js';
import type { Service } from './service.js';
import { Supervisor } from './supervisor.js';
import { assertLoaded, beginRestore, oweEpoch, owedBy } from './unfinished-restore.js';

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

// Guard: a database that is whole would be taken for one that is not.
it('that could move nothing aside leaves what the one before it has left', async () => {
  const dataDir = await folder('svc-unfinished-');
  const tried = (): Promise<void> => beginRestore(dataDir, () => Promise.reject(new Error('not here')));
  await oweEpoch(dataDir, 'this one');
  await expect(tried()).rejects.toThrow('not here');
  expect(await owedBy(dataDir)).toBe('this one');
  await writeFile(join(dataDir, 'restore-begun'), '');
  await expect(tried()).rejects.toThrow('not here');
  await expect(assertLoaded(dataDir)).rejects.toThrow('or remove that file where the database was put in order otherwise');
});

// Guard: another user may start the service, and to whom no epoch is known that one gives numbers twice.
it('leaves what everybody may read, whatever the umask', async () => {
  const dataDir = await folder('svc-unfinished-');
  const umask = process.umask(0o077);
  try {
    await oweEpoch(dataDir, 'this one');
    await keepEpoch(dataDir, 4);
  } finally {
    process.umask(umask);
  }
  for (const name of await readdir(dataDir)) expect([name, (await stat(join(dataDir, name))).mode & 0o777]).toEqual([name, 0o644]);
  expect([await readdir(dataDir), await knownEpoch(dataDir)]).toEqual([['log-epoch', 'restore-begun'], 4]);
});

// Guard: no epoch would be begun, or a low one.
it.each<[string, (dataDir: string) => Promise<unknown>]>([
  ['restore-begun', owedBy],
  ['log-epoch', knownEpoch],
])('says so where %s cannot be read', async (name, read) => {
  const dataDir = await folder('svc-unfinished-');
  await mkdir(join(dataDir, name));
  await expect(read(dataDir)).rejects.toThrow('EISDIR');
});
