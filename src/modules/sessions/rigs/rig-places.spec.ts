import { afterEach, beforeEach, expect, it } from '@jest/globals';
import { mkdir, mkdtemp, realpath, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { AppConfig } from '../../../platform/config/config.js';
import type { DirectoriesService } from '../../files/directories/directories.service.js';
import type { CityScope } from '../../tenancy/cities/city-scope.js';
import { RigPlaces } from './rig-places.js';

let root: string;
beforeEach(async () => {
  root = await realpath(await mkdtemp(path.join(tmpdir(), 'svc-rig-places-')));
  await Promise.all(['cities/alpha/rigs/own', 'allowed/web', 'silent/web'].map((at) => mkdir(path.join(root, at), { recursive: true })));
});
afterEach(() => rm(root, { recursive: true }));

// Guard: where rigs may lie is looked at for each of them, and a disk that does not answer would keep them all.
it('finds a rig without a look at allowed directories that do not answer', async () => {
  const at = (...parts: string[]): string => path.join(root, ...parts);
  const config = { citiesRoot: at('cities'), allowedPaths: [at('allowed'), at('silent')] } as unknown as AppConfig;
  const places = new RigPlaces(config, { isOthers: () => Promise.resolve(false) } as unknown as DirectoriesService);
  const city = { name: 'alpha', path: at('cities/alpha') } as CityScope;
  const find = (written: string, silent: string): Promise<string | undefined> =>
    places.ofRig(written, city, (asked) => Promise.resolve(asked !== at(silent)));
  expect(await find('rigs/own', 'silent')).toBe(at('cities/alpha/rigs/own'));
  expect(await find(at('allowed/web'), 'silent')).toBe(at('allowed/web'));
  await expect(find(at('silent/web'), 'silent')).rejects.toThrow('rig path escapes');
  expect(await find('rigs/own', 'cities')).toBeUndefined();
});
