import { mkdir, mkdtemp, realpath, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { ANYBODY } from '../../../contract/principal.js';
import { AppConfig, loadConfig } from '../../../platform/config/config.js';
import { isBelow } from '../../files/composition/trees/paths.js';
import { DirectoriesRepository } from '../../files/directories/directories.repository.js';
import { DirectoriesService } from '../../files/directories/directories.service.js';
import { CityDirectories, cityName } from './city-directory.js';

let base: string;
let root: string;
interface Rooted {
  readonly resolve: (dir: string) => Promise<string>;
  readonly root: () => Promise<string>;
}
let directories: Rooted;

function rootedAt(citiesRoot: string): Rooted {
  const config = new AppConfig({ ...loadConfig({}, base), citiesRoot });
  // With a key for all cities no database is asked.
  const found = new CityDirectories(config, new DirectoriesService(config, new DirectoriesRepository(), undefined as never));
  return { resolve: (dir) => found.resolve(dir, ANYBODY), root: () => found.root() };
}

beforeEach(async () => {
  base = await realpath(await mkdtemp(path.join(tmpdir(), 'svc-dirs-')));
  root = path.join(base, 'cities');
  directories = rootedAt(root);
});
afterEach(() => rm(base, { recursive: true, force: true }));

describe('CityDirectories', () => {
  it('makes the root and puts relative directories below it', async () => {
    expect(await directories.resolve('alpha')).toBe(path.join(root, 'alpha'));
    expect(await directories.resolve('a/./b/../c/')).toBe(path.join(root, 'a/c'));
    expect(await directories.resolve(path.join(root, 'abs'))).toBe(path.join(root, 'abs'));
  });

  it.each([
    '.',
    '..',
    '../cities',
    '../cities2/x',
    '/',
    '/etc',
    '   ',
    'a/../..',
    'x\0y',
    'a\ud800',
    'a/.gc/b',
    'a/.GC/b',
    '.Packs/b',
    '.svc-before-2026',
    '.Svc-before-2026/b',
    'x'.repeat(256),
    'd/'.repeat(17),
  ])('refuses %j', async (dir) => {
    await expect(directories.resolve(dir)).rejects.toMatchObject({
      problem: 'validation_failed',
      detail: expect.stringMatching(/^validation_failed: invalid city directory: /),
    });
  });

  it('follows symbolic links and refuses those that leave the root', async () => {
    await mkdir(path.join(root, 'real'), { recursive: true });
    await symlink('real', path.join(root, 'alias'));
    await symlink(base, path.join(root, 'out'));
    await symlink(path.join(base, 'nowhere'), path.join(root, 'dangling'));
    await symlink('loop', path.join(root, 'loop'));
    expect(await directories.resolve('alias/x')).toBe(path.join(root, 'real/x'));
    for (const dir of ['out/x', 'out', 'dangling', 'dangling/x', 'loop/x']) {
      await expect(directories.resolve(dir)).rejects.toMatchObject({ problem: 'validation_failed' });
    }
  });

  it('asks the disk for no path of very many parts', async () => {
    await mkdir(root);
    await writeFile(path.join(root, 'file'), '');
    // The disk would say that `file` is no directory.
    await expect(directories.resolve(`file${'/x'.repeat(2_000)}`)).rejects.toThrow('its path has more than 128 parts');
    expect(await directories.resolve(`${'x/../'.repeat(800)}city`)).toBe(path.join(root, 'city'));
  });

  it('accepts both spellings of a root that is itself a link', async () => {
    await mkdir(root);
    await symlink(root, path.join(base, 'spelled'));
    const linked = rootedAt(path.join(base, 'spelled'));
    expect(await linked.resolve(path.join(base, 'spelled/x'))).toBe(path.join(root, 'x'));
    expect(await linked.resolve(path.join(root, 'x'))).toBe(path.join(root, 'x'));
  });

  it('refuses a file, a path through a file, and a directory inside a city', async () => {
    await mkdir(path.join(root, 'city'), { recursive: true });
    await writeFile(path.join(root, 'city/city.toml'), '');
    await writeFile(path.join(root, 'file'), '');
    for (const dir of ['file', 'file/x', 'city/inner', 'city/deep/inner']) {
      await expect(directories.resolve(dir)).rejects.toMatchObject({ problem: 'validation_failed' });
    }
    expect(await directories.resolve('city')).toBe(path.join(root, 'city'));
  });

  it('reports a root that cannot be used as a missing dependency', async () => {
    await writeFile(root, '');
    await expect(directories.resolve('x')).rejects.toMatchObject({ problem: 'dependency_missing' });
  });
});

describe('cityName', () => {
  it('is the given name, else the base name', () => {
    expect(cityName(undefined, '/r/alpha')).toBe('alpha');
    expect(cityName(' Beta.1 ', '/r/alpha')).toBe('Beta.1');
  });
  it.each(['', ' ', '-a', '.a', '_a', 'a b', 'a,b', 'a:b', 'a/b', 'ä', '__supervisor__', 'x'.repeat(64)])('refuses %j', (name) => {
    expect(() => cityName(name, '/r/x')).toThrow(/^validation_failed: invalid city name: /);
  });
});

describe('isBelow', () => {
  it('is strict', () => {
    expect([isBelow('/r', '/r'), isBelow('/r', '/r/..x'), isBelow('/r', '/rx'), isBelow('/r', '/')]).toEqual([false, true, false, false]);
  });
});
