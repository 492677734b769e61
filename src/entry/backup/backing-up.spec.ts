import { mkdir, readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, expect, it } from '@jest/globals';
import { folder, removeFolders } from '../../../test/support/folders.js';
import type { AppConfig } from '../../platform/config/config.js';
import { backUp } from './backing-up.js';

afterEach(removeFolders);

it.each([
  ['/nowhere/at/all/monday.tgz', 'cannot write /nowhere/at/all/monday.tgz: there is no directory: /nowhere/at/all'],
  ['/dev/null/monday.tgz', 'cannot write /dev/null/monday.tgz: this is no directory: /dev/null'],
])('says why it cannot write %s', async (file, message) => {
  await expect(backUp({} as AppConfig, file, false, () => undefined)).rejects.toThrow(message);
});

// Guard: it would be half of one, or what its server makes of that.
it('makes none of an embedded database that a restore has not put there as a whole', async () => {
  const dataDir = await folder('svc-backing-up-');
  await mkdir(join(dataDir, 'postgres', 'data'), { recursive: true });
  await writeFile(join(dataDir, 'postgres', 'data', 'PG_VERSION'), '1\n');
  await writeFile(join(dataDir, 'restore-begun'), '');
  const config = { dataDir } as AppConfig;
  await expect(backUp(config, join(dataDir, 'monday.tgz'), false, () => undefined)).rejects.toThrow('a restore has not ended');
  expect(await readdir(dataDir)).toEqual(['postgres', 'restore-begun']);
});
