import { afterEach, expect, it } from '@jest/globals';
import { mkdir, readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { folder, removeFolders } from '../../../test/support/folders.js';
import type { AppConfig } from '../../platform/config/config.js';
import { restore } from './restoring.js';

afterEach(removeFolders);

it('leaves no data directory where there is nothing to restore, and one that was there as it was', async () => {
  const home = await folder('svc-restoring-');
  const refused = (file: string): Promise<unknown> =>
    expect(restore({ dataDir: join(home, '.svc') } as AppConfig, file, false, () => undefined)).rejects.toThrow(file);
  const none = join(home, 'bad.tgz');
  await refused(join(home, 'monday.tgz'));
  await writeFile(none, 'no archive');
  await refused(none);
  expect(await readdir(home)).toEqual(['bad.tgz']);
  await mkdir(join(home, '.svc'));
  await refused(none);
  expect(await readdir(join(home, '.svc'))).toEqual([]);
});
