import { mkdir, mkdtemp, realpath, rm, rmdir, symlink } from 'node:fs/promises';
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

  it('is not behind a link to nowhere', async () => {
    await symlink(path.join(root, 'nowhere'), path.join(city, 'rigs/dangling'));
    await expect(rigPlace('rigs/dangling/x', { city, citiesRoot: root })).rejects.toMatchObject({
      message: expect.stringContaining('a symbolic link to nowhere'),
    });
  });
});
