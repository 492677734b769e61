import { mkdir, mkdtemp, rename, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { eventually } from '../../../../test/support/sse.js';
import type { ReadPaths } from '../../files/composition/trees/ledger.js';
import { FileWatch, FileWatches } from './file-watch.js';

describe('the watch of a city’s files', () => {
  let cities: string;
  let root: string;
  let watches: FileWatches;
  /** As if it were on a network disk. */
  let silent: string | undefined;
  let city: FileWatch;
  const at = (...parts: string[]): string => path.join(root, ...parts);
  /** Who was told of something since it was last asked. */
  const dirty = new Set<string>();
  const take = (who = 'city'): boolean => dirty.delete(who);
  const told = (who?: string): Promise<unknown> => eventually(() => take(who));
  const following = (who: string, where = path.join(cities, who)): FileWatch => new FileWatch(watches, where, () => dirty.add(who));
  const read = (given: Partial<ReadPaths>): ReadPaths => ({ directories: [], files: [], missing: [], links: false, ...given });
  const FILES = (): ReadPaths => read({ directories: [root, at('agents')], files: [at('city.toml'), at('agents', 'a.toml')] });
  const follow = (): boolean => city.follow(FILES());

  beforeEach(async () => {
    silent = undefined;
    cities = await mkdtemp(path.join(tmpdir(), 'svc-watch-'));
    root = path.join(cities, 'city');
    await mkdir(at('agents'), { recursive: true });
    await writeFile(at('city.toml'), '');
    await writeFile(at('agents', 'a.toml'), '');
    watches = new FileWatches(100, (where) => where !== silent);
    city = following('city');
    follow();
    dirty.clear();
  });
  afterEach(async () => {
    city.close();
    await rm(cities, { recursive: true });
  });

  it('costs a watch a directory, and none of the directory around it', async () => {
    expect(watches.size).toBe(2);
    await mkdir(path.join(cities, 'another'));
    await writeFile(at('.svc-part'), 'x');
    // What was told in order before it would have been told by now.
    await writeFile(at('agents', 'b.toml'), '');
    await told();
    expect(take()).toBe(false);
  });

  it.each([
    ['is written in place', () => writeFile(at('city.toml'), 'x')],
    [
      'is replaced by a rename',
      () => writeFile(path.join(cities, 'new'), 'x').then(() => rename(path.join(cities, 'new'), at('city.toml'))),
    ],
    ['is new', () => writeFile(at('pack.toml'), 'x')],
    ['is removed', () => rm(at('agents', 'a.toml'))],
  ])('tells of a file that %s', async (_, change) => {
    await change();
    await told();
  });

  it('goes on with a directory that has taken the place of another', async () => {
    await mkdir(path.join(cities, 'agents'));
    await rename(at('agents'), path.join(cities, 'old'));
    await rename(path.join(cities, 'agents'), at('agents'));
    await told();
    await eventually(() => {
      city.renew();
      return watches.size === 2;
    });
    take();
    await writeFile(at('agents', 'c.toml'), '');
    await told();
  });

  // Guard: the kernel tells the watch of a directory nothing of what happens above it.
  it('goes on with a directory in the place of another when one above was exchanged and the files are read again', async () => {
    const old = `${cities}-old`;
    await rename(cities, old);
    try {
      await mkdir(at('agents'), { recursive: true });
      await writeFile(at('city.toml'), '');
      expect(follow()).toBe(true);
      expect(watches.size).toBe(2);
      dirty.clear();
      await writeFile(at('agents', 'c.toml'), '');
      await told();
    } finally {
      await rm(old, { recursive: true });
    }
  });

  it('is shared by those who follow one directory, and ends with the last of them', async () => {
    const pack = path.join(cities, 'pack');
    await mkdir(pack);
    const other = following('other');
    for (const watch of [city, other]) watch.follow(read({ directories: [pack] }));
    expect(watches.size).toBe(2);
    dirty.clear();
    await writeFile(path.join(pack, 'pack.toml'), '');
    await Promise.all([told('city'), told('other')]);
    city.close();
    expect(watches.size).toBe(1);
    other.close();
    expect(watches.size).toBe(0);
  });

  it('follows what lies outside of it by itself', () => {
    city.follow(read({ files: [path.join(cities, 'shared.toml')] }));
    expect(watches.size).toBe(1);
  });

  it('is told of what may appear beside it, as in the folder of a rig', async () => {
    const rig = path.join(cities, 'web');
    await mkdir(rig);
    city.follow({ ...FILES(), missing: [rig] });
    expect(city.complete).toBe(true);
    await writeFile(path.join(rig, 'pack.toml'), '');
    await told();
  });

  it('says of each new path that there may be something', () => {
    expect(follow()).toBe(false);
    city.close();
    expect(follow()).toBe(true);
  });

  it('says whether every change is told', async () => {
    const partial: Partial<ReadPaths>[] = [
      { links: true },
      { missing: [cities] },
      { directories: [at('node_modules')] },
      { directories: [at('gone')] },
    ];
    expect(city.complete).toBe(true);
    for (const more of partial) {
      city.follow({ ...FILES(), ...more });
      expect(city.complete).toBe(false);
    }
    city.follow({ ...FILES(), missing: [root, at('agents')] });
    expect(city.complete).toBe(true);
    await rm(at('agents'), { recursive: true });
    await told();
    await eventually(() => !city.complete);
    city.close();
    silent = root;
    city.follow(FILES());
    expect(city.complete).toBe(false);
  });

  it('has one budget with those of all other cities, and goes on when there is room', () => {
    watches = new FileWatches(3, () => true);
    const [first, second] = [following('city'), following('other')];
    first.follow(FILES());
    expect(second.follow(read({ directories: [cities, path.dirname(cities)] }))).toBe(true);
    expect([watches.size, first.complete, second.complete]).toEqual([3, true, false]);
    first.close();
    expect(second.renew()).toBe(true);
    second.close();
    expect(watches.size).toBe(0);
  });

  it('gives up all below a directory in one pass, however many', async () => {
    const folders = Array.from({ length: 30 }, (_, n) => at('agents', `a${n}`));
    for (const folder of folders) await mkdir(folder);
    city.follow(read({ directories: [root, at('agents'), ...folders] }));
    const all = watches.size;
    const keys = jest.spyOn(Map.prototype, 'keys');
    let passes: number;
    try {
      await rename(at('agents'), path.join(cities, 'old'));
      await eventually(() => watches.size === all - 31);
      passes = keys.mock.contexts.filter((map) => (map as Map<unknown, unknown>).has(root)).length;
    } finally {
      keys.mockRestore();
    }
    // The directory above tells of it, and the directory itself may.
    expect(passes).toBeLessThanOrEqual(2);
    expect(city.complete).toBe(false);
  });
});
