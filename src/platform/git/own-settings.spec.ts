import { mkdir, mkdtemp, readFile, readdir, realpath, rm, symlink, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { sweepOwnSettings, withOwnSettings } from './own-settings.js';

let base: string;
beforeEach(async () => {
  base = await realpath(await mkdtemp(path.join(tmpdir(), 'svc-own-settings-')));
});
afterEach(() => rm(base, { recursive: true }));

describe('settings for a look at a repository', () => {
  it('are beside what they were read from only while git lists that', async () => {
    await writeFile(path.join(base, 'config'), 'as it lies there');
    const there: string[][] = [];
    const list = async (file: string, folder: string): Promise<string> => {
      there.push([await readFile(file, 'utf8'), ...(await readdir(folder))]);
      return 'core.filemode\nfalse\0remote.origin.url\nhttps://user:token@example.org\0';
    };
    const look = async (folder: string): Promise<void> => {
      there.push([await readFile(path.join(folder, 'config'), 'utf8'), ...(await readdir(folder))]);
    };
    await withOwnSettings({ gitDir: base, common: base }, list, look);
    expect(there).toEqual([
      ['as it lies there', 'given'],
      ['[core]\n\tfilemode = "false"\n', 'config'],
    ]);
  });

  it.each([
    [null, false],
    ['true', true],
    ['On', true],
    ['1', true],
    [undefined, true],
    ['false', false],
    ['', false],
    ['0', false],
    ['true\0extensions.worktreeconfig\nfalse', false],
    ['false\0extensions.worktreeconfig\ntrue', true],
  ])('are those of a tree as well where the repository says so: %j', async (said, counts) => {
    for (const name of ['config', 'config.worktree']) await writeFile(path.join(base, name), name);
    const list = async (file: string): Promise<string> =>
      (await readFile(file, 'utf8')) === 'config'
        ? `a.extensions.worktreeconfig\ntrue\0${said === null ? '' : `extensions.worktreeconfig${said === undefined ? '' : `\n${said}`}\0`}`
        : 'core.filemode\nfalse\0';
    const text = await withOwnSettings({ gitDir: base, common: base }, list, (folder) => readFile(path.join(folder, 'config'), 'utf8'));
    expect(text).toBe(counts ? '[core]\n\tfilemode = "false"\n' : '');
  });

  it('are swept where a process that was killed has left them, and nothing else is', async () => {
    for (const name of ['svc-git-settings-old', 'svc-git-settings-new', 'svc-other']) {
      await mkdir(path.join(base, name));
      if (name !== 'svc-git-settings-new') await utimes(path.join(base, name), 0, 0);
    }
    await symlink(path.join(base, 'svc-other'), path.join(base, 'svc-git-settings-link'));
    expect(await sweepOwnSettings(base)).toBe(1);
    expect((await readdir(base)).sort()).toEqual(['svc-git-settings-link', 'svc-git-settings-new', 'svc-other']);
  });
});
