import { mkdir, mkdtemp, rename, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { eventually } from '../../../../test/support/sse.js';
import { FileWatch, FileWatches } from './file-watch.js';

describe('the watch of a city’s files', () => {
  let cities: string;
  let root: string;
  let watches: FileWatches;
  let city: FileWatch;
  const at = (...parts: string[]): string => path.join(root, ...parts);
  const told = (watch = city): Promise<unknown> => eventually(() => watch.take());
  const follow = (): void => city.follow({ directories: [root, at('agents')], files: [at('city.toml'), at('agents', 'a.toml')] });

  beforeEach(async () => {
    cities = await mkdtemp(path.join(tmpdir(), 'svc-watch-'));
    root = path.join(cities, 'city');
    await mkdir(at('agents'), { recursive: true });
    await writeFile(at('city.toml'), '');
    await writeFile(at('agents', 'a.toml'), '');
    watches = new FileWatches();
    city = new FileWatch(watches, root);
    follow();
    city.take();
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
    expect(city.take()).toBe(false);
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
    city.take();
    await writeFile(at('agents', 'c.toml'), '');
    await told();
  });

  it('is shared by those who follow one directory, and ends with the last of them', async () => {
    const pack = path.join(cities, 'pack');
    await mkdir(pack);
    const other = new FileWatch(watches, path.join(cities, 'other'));
    for (const watch of [city, other]) watch.follow({ directories: [pack], files: [] });
    expect(watches.size).toBe(2);
    for (const watch of [city, other]) watch.take();
    await writeFile(path.join(pack, 'pack.toml'), '');
    await Promise.all([told(city), told(other)]);
    city.close();
    expect(watches.size).toBe(1);
    other.close();
    expect(watches.size).toBe(0);
  });

  it('follows what lies outside of it by itself', () => {
    city.follow({ directories: [], files: [path.join(cities, 'shared.toml')] });
    expect(watches.size).toBe(1);
  });

  it('says at the beginning, and after each new path, that there may be something', () => {
    follow();
    expect(city.take()).toBe(false);
    expect(new FileWatch(watches, root).take()).toBe(true);
    city.close();
    follow();
    expect(city.take()).toBe(true);
  });
});
