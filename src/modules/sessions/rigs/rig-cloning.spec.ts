import { mkdir, mkdtemp, readdir, readFile, realpath, rename, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { isFree, isInPlace, manifestFor, PlaceTaken, takeBack, takePlace, unmark, workshopFor } from './rig-cloning.js';
import type { Roots } from './rig-place.js';

let root: string;
let roots: Roots;
const at = (...parts: string[]): string => path.join(root, 'city', ...parts);

beforeEach(async () => {
  root = await realpath(await mkdtemp(path.join(tmpdir(), 'svc-rig-')));
  await mkdir(at(), { recursive: true });
  roots = { city: at(), citiesRoot: root };
});
afterEach(() => rm(root, { recursive: true, force: true }));

const clone = async (operation = 'op-1', fence = 1): Promise<string> => {
  const into = await workshopFor(roots, operation, fence);
  await mkdir(path.join(into, '.git'), { recursive: true });
  await writeFile(path.join(into, 'README.md'), operation);
  return into;
};

describe('clones', () => {
  it('take their place in one move and are known there', async () => {
    const manifest = await manifestFor(at('rigs/deep/web'));
    expect(manifest).toEqual({ target: at('rigs/deep/web'), existed: false, parents: [at('rigs'), at('rigs/deep')] });
    expect(await isFree(manifest)).toBe(true);
    await takePlace(await clone(), manifest, 'op-1', roots);
    expect([await isInPlace(manifest, 'op-1'), await isInPlace(manifest, 'op-2'), await isFree(manifest)]).toEqual([true, false, false]);
    await takeBack(at(), 'op-1', manifest);
    expect((await readdir(at())).sort()).toEqual(['.gc']);
    expect(await readdir(at('.gc/cache/rigs'))).toEqual([]);
  });

  it('leave an empty directory empty again, and never touch a full one or another operation', async () => {
    await mkdir(at('empty'));
    await mkdir(at('full/x'), { recursive: true });
    const empty = await manifestFor(at('empty'));
    await takePlace(await clone(), empty, 'op-1', roots);
    await takeBack(at(), 'op-2', empty);
    expect(await readdir(at('empty'))).toContain('README.md');
    await takeBack(at(), 'op-1', empty);
    expect(await readdir(at('empty'))).toEqual([]);
    const full = await manifestFor(at('full'));
    await expect(takePlace(await clone(), full, 'op-1', roots)).rejects.toBeInstanceOf(PlaceTaken);
    await takeBack(at(), 'op-1', full);
    expect(await readdir(at('full'))).toEqual(['x']);
  });

  it('are nobody’s to take back once they have lost their mark', async () => {
    const manifest = await manifestFor(at('web'));
    await takePlace(await clone(), manifest, 'op-1', roots);
    await unmark(manifest);
    await takeBack(at(), 'op-1', manifest);
    expect(await readdir(at('web'))).toContain('README.md');
  });

  it('do not follow a directory that has become a link out of the city', async () => {
    const manifest = await manifestFor(at('rigs/web'));
    const into = await clone();
    await mkdir(path.join(root, 'other'));
    await writeFile(path.join(root, 'other/city.toml'), '');
    await symlink(path.join(root, 'other'), at('rigs'));
    await expect(takePlace(into, manifest, 'op-1', roots)).rejects.toThrow();
    expect(await readdir(path.join(root, 'other'))).toEqual(['city.toml']);
    await rm(at('.gc'), { recursive: true });
    await symlink(path.join(root, 'other'), at('.gc'));
    await expect(workshopFor(roots, 'op-1', 2)).rejects.toThrow('.gc is not a directory of the city');
    await takeBack(at(), 'op-1', null);
    expect(await readdir(path.join(root, 'other'))).toEqual(['city.toml']);
  });

  it('come into the folder that was looked at, also when a link takes its place then', async () => {
    const theirs = path.join(root, 'other/rigs');
    await mkdir(theirs, { recursive: true });
    await mkdir(path.join(root, 'lot'));
    let asked = 0;
    // The last question before the move.
    const mayName = async (): Promise<boolean> => {
      if (++asked < 3) return true;
      await rename(path.join(root, 'lot'), path.join(root, 'away'));
      await symlink(theirs, path.join(root, 'lot'));
      return true;
    };
    const manifest = await manifestFor(path.join(root, 'lot/web'));
    await takePlace(await clone(), manifest, 'op-1', { ...roots, mayName });
    expect([asked, await readdir(theirs), await readdir(path.join(root, 'away'))]).toEqual([3, [], ['web']]);
  });

  it('are not taken back from behind a link', async () => {
    const theirs = path.join(root, 'other/rigs');
    await mkdir(path.join(theirs, 'web/.git'), { recursive: true });
    await writeFile(path.join(theirs, 'web/.git/svc-provision'), 'op-1');
    await symlink(theirs, at('rigs'));
    const manifest = { target: at('rigs/web'), existed: false, parents: [] };
    expect(await isInPlace(manifest, 'op-1')).toBe(false);
    await unmark(manifest);
    await takeBack(at(), 'op-1', manifest);
    expect(await readFile(path.join(theirs, 'web/.git/svc-provision'), 'utf8')).toBe('op-1');
  });

  it('are not marked through a link', async () => {
    const theirs = path.join(root, 'theirs');
    await writeFile(theirs, 'theirs');
    const into = await clone();
    await symlink(theirs, path.join(into, '.git/svc-provision'));
    const manifest = await manifestFor(at('web'));
    await takePlace(into, manifest, 'op-1', roots);
    expect([await isInPlace(manifest, 'op-1'), await readFile(theirs, 'utf8')]).toEqual([true, 'theirs']);
  });

  it('of one operation have a workshop an attempt, and all go together', async () => {
    await clone('op-1', 1);
    await clone('op-1', 2);
    await clone('op-10', 1);
    expect((await readdir(at('.gc/cache/rigs'))).sort()).toEqual(['op-1.1', 'op-1.2', 'op-10.1']);
    await takeBack(at(), 'op-1', null);
    expect(await readdir(at('.gc/cache/rigs'))).toEqual(['op-10.1']);
  });
});
