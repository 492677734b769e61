import { existsSync, mkdirSync, readdirSync, renameSync, symlinkSync, writeFileSync } from 'node:fs';
import { mkdir, mkdtemp, realpath, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { removeTree } from './remove-tree.js';

let base: string;
let tree: string;
let victim: string;
beforeEach(async () => {
  base = await realpath(await mkdtemp(path.join(tmpdir(), 'remove-')));
  tree = path.join(base, 'tree');
  victim = path.join(base, 'victim');
  for (const at of [tree, victim]) await mkdir(path.join(at, 'in'), { recursive: true });
  await writeFile(path.join(victim, 'in/kept'), '');
});
afterEach(() => rm(base, { recursive: true, force: true }));

describe('a tree that agents write into', () => {
  it('goes with all that is in it, but for what links lead to', async () => {
    await writeFile(path.join(tree, 'in/file'), '');
    writeFileSync(Buffer.concat([Buffer.from(`${tree}/in/`), Buffer.from([0xff, 0xfe])]), '');
    await symlink(victim, path.join(tree, 'in/link'));
    await removeTree(tree);
    expect(readdirSync(base)).toEqual(['victim']);
    expect(existsSync(path.join(victim, 'in/kept'))).toBe(true);
  });

  it('may be a file, a link, or not there', async () => {
    await writeFile(path.join(tree, 'file'), '');
    await symlink(victim, path.join(tree, 'link'));
    for (const name of ['file', 'link', 'nothing', 'nothing/at/all']) await removeTree(path.join(tree, name));
    expect(readdirSync(tree)).toEqual(['in']);
    expect(existsSync(path.join(victim, 'in/kept'))).toBe(true);
  });

  it('takes nothing along that a link leads to which takes the place of an open folder', async () => {
    await writeFile(path.join(tree, 'in/file'), '');
    await removeTree(tree, (place) => {
      if (path.basename(place.toString()) !== 'in' || existsSync(path.join(base, 'moved'))) return;
      renameSync(path.join(tree, 'in'), path.join(base, 'moved'));
      symlinkSync(path.join(victim, 'in'), path.join(tree, 'in'));
    });
    expect(readdirSync(path.join(victim, 'in'))).toEqual(['kept']);
    expect(readdirSync(base).sort()).toEqual(['moved', 'victim']);
    expect(readdirSync(path.join(base, 'moved'))).toEqual([]);
  });

  it('takes nothing along that a link leads to which takes the place of a folder before it is opened', async () => {
    for (const name of ['in', 'other']) await mkdir(path.join(tree, name, 'deep'), { recursive: true });
    let others = ['in', 'other'];
    await removeTree(tree, (place) => {
      const name = path.basename(place.toString());
      if (!others.includes(name)) return;
      // Both have been found to be folders, and this one is open.
      for (const other of others.filter((each) => each !== name)) {
        renameSync(path.join(tree, other), path.join(base, 'moved'));
        symlinkSync(path.join(victim, 'in'), path.join(tree, other));
      }
      others = [];
    });
    expect(readdirSync(path.join(victim, 'in'))).toEqual(['kept']);
    expect(readdirSync(base).sort()).toEqual(['moved', 'victim']);
  });

  it('is not looked for behind a link', async () => {
    await symlink(victim, path.join(tree, 'link'));
    await expect(removeTree(path.join(tree, 'link/in'))).rejects.toThrow('is a link, or lies behind one');
    expect(readdirSync(path.join(victim, 'in'))).toEqual(['kept']);
  });

  it('goes when something is put into it meanwhile, and however deep it is', async () => {
    mkdirSync(path.join(tree, 'd/'.repeat(300)), { recursive: true });
    let late = 3;
    await removeTree(tree, (place) => {
      if (path.basename(place.toString()) === 'd' && late-- > 0) writeFileSync(path.join(tree, `late-${late}`), '');
    });
    expect(readdirSync(base)).toEqual(['victim']);
  });
});
