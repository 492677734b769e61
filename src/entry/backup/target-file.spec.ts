import { afterEach, beforeEach, expect, it, jest } from '@jest/globals';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { open, type FileHandle } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { settle } from './target-file.js';

let home: string;
beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), 'svc-target-file-'));
  writeFileSync(join(home, 'part'), 'whole');
});
afterEach(() => {
  jest.restoreAllMocks();
  rmSync(home, { recursive: true });
});

/** A disk on which that kind of thing cannot be synced. */
async function without(kind: 'folders' | 'files'): Promise<void> {
  const handle = await open(home, 'r');
  const prototype = Object.getPrototypeOf(handle) as FileHandle;
  await handle.close();
  jest.spyOn(prototype, 'sync').mockImplementation(async function (this: FileHandle) {
    if ((await this.stat()).isDirectory() === (kind === 'folders')) throw new Error('EINVAL: invalid argument, fsync');
  });
}

it('gives a backup its name also in a folder that cannot be synced, as of some shares', async () => {
  await without('folders');
  await settle(join(home, 'part'), join(home, 'monday.tgz'));
  expect(readFileSync(join(home, 'monday.tgz'), 'utf8')).toBe('whole');
});

it('gives none to what is not on the disk', async () => {
  await without('files');
  await expect(settle(join(home, 'part'), join(home, 'monday.tgz'))).rejects.toThrow('fsync');
  expect(existsSync(join(home, 'monday.tgz'))).toBe(false);
});
