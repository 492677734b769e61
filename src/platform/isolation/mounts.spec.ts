import { mkdir, mkdtemp, realpath, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { existing } from './mounts.js';

let home: string;
beforeEach(async () => {
  home = await realpath(await mkdtemp(path.join(tmpdir(), 'svc-mounts-')));
  await Promise.all(['.ssh', 'shared/tools', 'dotfiles/config'].map((at) => mkdir(path.join(home, at), { recursive: true })));
  await writeFile(path.join(home, 'shared/tools/x'), 'x');
});
afterEach(() => rm(home, { recursive: true }));

describe('what is shown of the host', () => {
  let told: string[];
  beforeEach(() => {
    told = [];
  });
  const at = (name: string): string => path.join(home, name);
  const look = async (name: string): Promise<string[]> =>
    (
      await existing(at(name), 'read', { folders: [at('shared')], onLink: (...both) => told.push(both.join(' ').replaceAll(home, '')) })
    ).map(({ from = '', ...mount }) =>
      [mount.at, from, mount.isRenewed ? 'renewed' : mount.identity === undefined ? '' : 'known'].join(' ').replaceAll(home, ''),
    );

  it('is shown where a link of the operator leads as well', async () => {
    await symlink('dotfiles/config', at('.config'));
    expect(await look('.config')).toEqual(['/.config /dotfiles/config ', '/dotfiles/config  ']);
    expect(await look('.ssh')).toEqual(['/.ssh  ']);
    expect(await look('none')).toEqual([]);
  });

  // Guard: an agent that writes a folder which it is shown could have any other one shown to the next.
  it('is not what a link leads to that an agent may have made', async () => {
    await symlink('../.ssh', at('shared/keys'));
    await symlink(at('.ssh'), at('shared/tools/keys'));
    await symlink('shared/tools/keys', at('mine'));
    await symlink('shared', at('link'));
    expect(await Promise.all(['shared/keys', 'shared/tools/keys', 'mine', 'link/keys'].map(look))).toEqual([[], [], [], []]);
    expect(told.sort()).toEqual([
      '/link/keys /shared/keys',
      '/mine /shared/tools/keys',
      '/shared/keys /shared/keys',
      '/shared/tools/keys /shared/tools/keys',
    ]);
    expect(await look('shared')).toEqual(['/shared  ']);
    expect(await look('shared/tools')).toEqual(['/shared/tools  known']);
    expect(await look('shared/tools/x')).toEqual(['/shared/tools/x  renewed']);
    expect(await look('link/tools')).toEqual(['/link/tools /shared/tools known', '/shared/tools  known']);
  });
});
