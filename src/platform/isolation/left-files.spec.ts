import { chown, mkdir, mkdtemp, readdir, realpath, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { USER_NUMBERS } from '../../../test/support/user-numbers.js';
import { removeLeft } from './left-files.js';

const USER = USER_NUMBERS.sessions.first + 3;
let open: string;
beforeEach(async () => {
  open = await realpath(await mkdtemp(path.join(tmpdir(), 'svc-left-')));
});
afterEach(() => rm(open, { recursive: true }));

async function fill(others: number, own: number): Promise<void> {
  for (let n = 0; n < others; n++) await writeFile(path.join(open, `other-${n}`), '');
  for (let n = 0; n < own; n++) {
    const at = path.join(open, `own-${n}`);
    await mkdir(path.join(at, 'deep'), { recursive: true });
    await chown(at, USER, USER);
  }
}

async function left(most: number): Promise<{ others: number; own: number; full: string[] }> {
  const full: string[] = [];
  await removeLeft(USER, (folder) => full.push(folder), { folders: [open, open, path.join(open, 'none')], most });
  const names = await readdir(open);
  return {
    others: names.filter((name) => name.startsWith('other')).length,
    own: names.filter((name) => name.startsWith('own')).length,
    full,
  };
}

(process.getuid?.() === 0 ? describe : describe.skip)('what a user has left (skipped: not root)', () => {
  it('goes, however much it is, and nothing of others', async () => {
    await fill(10, 70);
    expect(await left(20)).toEqual({ others: 10, own: 0, full: [] });
  });

  it('is looked for among so much of others, and said to be more', async () => {
    await fill(200, 0);
    expect(await left(100)).toEqual({ others: 200, own: 0, full: [open] });
    expect(await left(200)).toEqual({ others: 200, own: 0, full: [] });
  });
});
