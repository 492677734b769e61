import { mkdir, mkdtemp, realpath, rm, rmdir, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { rigPlace } from './rig-place.js';

const TIMES = 300;
let root: string;
let city: string;

beforeAll(async () => {
  root = await realpath(await mkdtemp(path.join(tmpdir(), 'svc-rig-place-')));
  city = path.join(root, 'port');
  await mkdir(path.join(city, 'rigs'), { recursive: true });
});
afterAll(() => rm(root, { recursive: true }));

describe('the place of a rig', () => {
  it('is the same while rivals make it and take it back', async () => {
    const directory = path.join(city, 'rigs/raced');
    let over = false;
    const rival = (async () => {
      while (!over) {
        await mkdir(directory);
        await rmdir(directory);
      }
    })();
    try {
      for (let n = 0; n < TIMES; n++)
        expect(await rigPlace('rigs/raced', { city, citiesRoot: root })).toEqual({ path: 'rigs/raced', directory });
    } finally {
      over = true;
      await rival;
    }
  });

  // Guard: a path of 2,000 parts that are not there has each of them looked for, a third of a second of the disk and of this process.
  it('is not looked for where none can be', async () => {
    await writeFile(path.join(city, 'note'), '');
    const at = (given: string): ReturnType<typeof rigPlace> => rigPlace(given, { city, citiesRoot: root });
    await expect(at('note/x')).rejects.toThrow('not a directory');
    await expect(at(`note${'/x'.repeat(2_000)}`)).rejects.toThrow('more than 32 directories deep');
  });

  it('may be where the operator allows it, and nowhere that a link leads to from there', async () => {
    const allowed = path.join(root, 'operators');
    const [rigs, spelled, other] = ['rigs', 'spelled', 'other'].map((name) => path.join(allowed, name)) as [string, string, string];
    const citiesRoot = path.join(root, 'cities');
    const own = path.join(citiesRoot, 'quay');
    for (const at of [own, rigs, other]) await mkdir(at, { recursive: true });
    await symlink(rigs, spelled);
    const at = (given: string): ReturnType<typeof rigPlace> =>
      rigPlace(given, { city: own, citiesRoot, allowedPaths: [spelled, path.join(allowed, 'missing')] });
    expect(await at(path.join(rigs, 'a/b'))).toEqual({ path: path.join(rigs, 'a/b'), directory: path.join(rigs, 'a/b') });
    expect(await at(path.join(spelled, 'a'))).toEqual({ path: path.join(rigs, 'a'), directory: path.join(rigs, 'a') });
    expect(await at(rigs)).toEqual({ path: rigs, directory: rigs });
    await symlink(other, path.join(rigs, 'out'));
    for (const given of [
      other,
      allowed,
      path.join(rigs, 'out'),
      path.join(rigs, 'out/x'),
      path.join(rigs, '../other'),
      path.join(allowed, 'missing/x'),
    ])
      await expect(at(given)).rejects.toThrow('escapes the city root');
    await expect(at(path.join(rigs, '.git/x'))).rejects.toThrow('belongs to something else');
    await writeFile(path.join(rigs, 'city.toml'), '');
    await expect(at(path.join(rigs, 'a'))).rejects.toThrow('it lies in another city');
  });

  it('is not behind a link to nowhere', async () => {
    await symlink(path.join(root, 'nowhere'), path.join(city, 'rigs/dangling'));
    await expect(rigPlace('rigs/dangling/x', { city, citiesRoot: root })).rejects.toMatchObject({
      message: expect.stringContaining('a symbolic link to nowhere'),
    });
  });
});
