import { spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { mkdir, readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, expect, it } from '@jest/globals';
import { folder, removeFolders } from '../../../test/support/folders.js';
import type { AppConfig } from '../../platform/config/config.js';
import { lockDirectory } from '../../platform/embedded/lock.js';
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

// Guard: of two at once of a service that does not run, one starts the database and ends it under the other.
it('looks again where the database that another process has started is not there, or has ended, and whether a restore has begun', async () => {
  const dataDir = await folder('svc-backing-up-');
  await mkdir(join(dataDir, 'postgres', 'data'), { recursive: true });
  await writeFile(join(dataDir, 'postgres', 'data', 'PG_VERSION'), '1\n');
  await writeFile(join(dataDir, 'postgres', 'password'), 'svc');
  const lock = await lockDirectory(dataDir);
  const told: string[] = [];
  const next = [
    // It has ended.
    () => writeFileSync(join(dataDir, 'postgres', 'data', 'postmaster.pid'), '1\n\n\n1\n'),
    () => writeFileSync(join(dataDir, 'restore-begun'), ''),
  ];
  const backup = backUp({ dataDir, citiesRoot: dataDir } as AppConfig, join(dataDir, 'monday.tgz'), false, (line) => {
    told.push(line);
    next.shift()?.();
  });
  await expect(backup).rejects.toThrow('a restore has not ended');
  await lock.release();
  expect(told).toEqual([expect.stringMatching(/ENOENT.*; trying again …$/), expect.stringMatching(/ECONNREFUSED.*; trying again …$/)]);
});

// Guard: a name with several addresses has a reason for each of them and none of its own, so nothing was said.
it('says which database it does not get to', async () => {
  const entry = ['--import', '../../../scripts/typescript.mjs', '../backup.ts'].map((at) =>
    at.startsWith('.') ? fileURLToPath(new URL(at, import.meta.url)) : at,
  );
  const home = await folder('svc-backing-up-');
  const env = { PATH: process.env.PATH, SVC_DATA_DIR: home, SVC_DATABASE_URL: 'postgres://svc@127.0.0.1:1/svc' };
  const { status, stderr } = spawnSync(process.execPath, [...entry, 'backup', join(home, 'monday.tgz')], { env, encoding: 'utf8' });
  const said = 'svc backup: the database of SVC_DATABASE_URL cannot be used: connect ECONNREFUSED 127.0.0.1:1\n';
  expect([status, stderr]).toEqual([1, said]);
});
