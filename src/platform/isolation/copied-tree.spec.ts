import { mkdir, mkdtemp, readdir, readFile, realpath, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { copyTree } from './copied-tree.js';

let base: string;
const at = (...parts: string[]): string => path.join(base, ...parts);
beforeEach(async () => {
  base = await realpath(await mkdtemp(path.join(tmpdir(), 'svc-copy-')));
  await mkdir(at('from/deep'), { recursive: true });
  await writeFile(at('from/deep/file'), 'x'.repeat(100_000));
  await writeFile(at('secret'), 'a secret');
});
afterEach(() => rm(base, { recursive: true }));

(process.platform === 'linux' ? describe : describe.skip)('a copy of a tree', () => {
  it('has its files, and nothing that a link leads to', async () => {
    await symlink(at('secret'), at('from/link'));
    await symlink(base, at('from/folder'));
    await copyTree(at('from'), at('to'), { bytes: 100_000, files: 4 });
    expect((await readdir(at('to'), { recursive: true })).sort()).toEqual(['deep', 'deep/file']);
    expect(await readFile(at('to/deep/file'), 'utf8')).toBe('x'.repeat(100_000));
    await symlink(at('from'), at('behind'));
    for (const from of [at('behind'), at('behind/deep')])
      await expect(copyTree(from, at('other'), { bytes: 1_000_000, files: 10 })).rejects.toThrow('lies behind one');
  });

  it.each([
    ['bytes', { bytes: 99_999, files: 10 }],
    ['files', { bytes: 1_000_000, files: 1 }],
  ])('ends at so many %s', async (_, limits) => {
    await expect(copyTree(at('from'), at('to'), limits)).rejects.toThrow('too large');
  });
});
