import { execFileSync } from 'node:child_process';
import { closeSync, constants, openSync } from 'node:fs';
import { mkdtemp, realpath, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, expect, it } from '@jest/globals';
import { textOf } from './own-repository.js';

let base: string;
let pipe: string;
beforeEach(async () => {
  base = await realpath(await mkdtemp(path.join(tmpdir(), 'own-repository-')));
  pipe = path.join(base, 'pipe');
  execFileSync('mkfifo', [pipe]);
});
afterEach(async () => {
  // Whoever waits for a writer has one.
  closeSync(openSync(pipe, constants.O_RDWR | constants.O_NONBLOCK));
  await rm(base, { recursive: true });
});

// Guard: who opens a pipe for reading waits for somebody who writes, in one of the four threads of the process.
it('reads what it has found for a file of git only where that is one by then', async () => {
  const file = path.join(base, 'config');
  await writeFile(file, '[core]\n');
  await symlink(file, path.join(base, 'link'));
  await symlink(base, path.join(base, 'folder'));
  expect(await textOf(file)).toBe('[core]\n');
  await expect(textOf(path.join(base, 'link'))).rejects.toThrow('ELOOP');
  await expect(textOf(path.join(base, 'folder/config'))).rejects.toThrow('behind one');
  await expect(textOf(pipe)).rejects.toThrow('it is no file');
});
