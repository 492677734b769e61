import { afterEach, expect, it } from '@jest/globals';
import { mkdir, readdir, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { folder, removeFolders } from '../../../test/support/folders.js';
import type { AppConfig } from '../../platform/config/config.js';
import { FILES, pack, PASSWORD } from './archive.js';
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

// Guard: a database that lay elsewhere is gone with that disk, and its link told whoever restored it to restore it.
it('moves a link aside whose database is gone', async () => {
  const home = await folder('svc-restoring-');
  const [dataDir, made, file] = [join(home, '.svc'), join(home, 'made'), join(home, 'monday.tgz')];
  for (const path of [dataDir, join(made, FILES)]) await mkdir(path, { recursive: true });
  await symlink(join(home, 'gone'), join(dataDir, 'postgres'));
  // No server reads it.
  await writeFile(join(made, FILES, 'PG_VERSION'), '1\n');
  await writeFile(join(made, PASSWORD), 'svc');
  const citiesRoot = join(home, 'cities');
  await pack(file, made, { format: 1, database: 'files', at: '2026-11-28T00:00:00Z', server: 1, citiesRoot });
  const told: string[] = [];
  const restored = restore({ dataDir, citiesRoot } as AppConfig, file, false, (line) => told.push(line));
  await expect(restored).rejects.toThrow(/PostgreSQL/);
  expect(told.join('\n')).toContain(`${join(dataDir, 'postgres')} is now ${join(dataDir, 'postgres')}.before-`);
  expect(await readdir(join(dataDir, 'postgres'))).toContain('data');
});
