import { afterEach, expect, it } from '@jest/globals';
import { mkdirSync, rmSync } from 'node:fs';
import { mkdir, readdir, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { folder, removeFolders } from '../../../test/support/folders.js';
import type { AppConfig } from '../../platform/config/config.js';
import { findBinaries } from '../../platform/embedded/binaries.js';
import { FILES, pack, PASSWORD } from './archive.js';
import { majorOf, run } from './programs.js';
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

/** Of files that no server reads. */
async function backupOf(home: string, server: number): Promise<{ config: AppConfig; file: string }> {
  const [dataDir, made, file] = [join(home, '.svc'), join(home, 'made'), join(home, 'monday.tgz')];
  for (const path of [dataDir, join(made, FILES)]) await mkdir(path, { recursive: true });
  await writeFile(join(made, FILES, 'PG_VERSION'), '1\n');
  await writeFile(join(made, PASSWORD), 'svc');
  const citiesRoot = join(home, 'cities');
  await pack(file, made, { format: 1, database: 'files', at: '2026-11-28T00:00:00Z', server, citiesRoot });
  return { config: { dataDir, citiesRoot } as AppConfig, file };
}
const ours = async (): Promise<number> => majorOf(await run((await findBinaries()).postgres, ['--version']));

// Guard: a database that lay elsewhere is gone with that disk, and its link told whoever restored it to restore it.
it('moves a link aside whose database is gone', async () => {
  const home = await folder('svc-restoring-');
  const { config, file } = await backupOf(home, await ours());
  const postgres = join(config.dataDir, 'postgres');
  await symlink(join(home, 'gone'), postgres);
  const told: string[] = [];
  const restored = restore(config, file, false, (line) => told.push(line));
  await expect(restored).rejects.toThrow(/PostgreSQL/);
  expect(told.join('\n')).toContain(`${postgres} is now ${postgres}.before-`);
  expect(await readdir(postgres)).toContain('data');
});

// Guard: the only copy of what the next start was to put back was gone.
it('keeps what it has unpacked where nobody can say whether that is owed', async () => {
  const { config, file } = await backupOf(await folder('svc-restoring-'), await ours());
  await mkdir(join(config.dataDir, 'postgres'));
  const mark = join(config.dataDir, 'restore-begun');
  const unreadable = (line: string): void => void (line.includes('.before-') && (rmSync(mark), mkdirSync(mark)));
  await expect(restore(config, file, false, unreadable)).rejects.toThrow(/EISDIR|ENOTEMPTY/);
  expect((await readdir(config.dataDir)).filter((name) => name.startsWith('restore.new-'))).toHaveLength(1);
});

// Guard: what was there is moved aside for files that the server then refuses.
it('touches nothing for files of another version of PostgreSQL, and says with what they can be restored', async () => {
  const other = (await ours()) + 1;
  const { config, file } = await backupOf(await folder('svc-restoring-'), other);
  await mkdir(join(config.dataDir, 'postgres', 'data'), { recursive: true });
  const told: string[] = [];
  const restored = restore(config, file, true, (line) => told.push(line));
  await expect(restored).rejects.toThrow(`these are files of PostgreSQL ${other}, and this release of svc has ${other - 1}`);
  expect(told).toEqual([]);
  expect(await readdir(config.dataDir)).toEqual(['postgres']);
});
