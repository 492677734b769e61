import { mkdir, symlink } from 'node:fs/promises';
import path from 'node:path';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { folder, removeFolders } from '../../../../test/support/folders.js';
import { Ledger } from '../../files/composition/trees/ledger.js';
import type { RigPath } from './composed.js';
import { rigsOutside } from './rigs-outside.js';

let citiesRoot: string;
let city: string;

beforeAll(async () => {
  citiesRoot = await folder('rigs');
  city = path.join(citiesRoot, 'alpha');
  await mkdir(path.join(city, 'here'), { recursive: true });
  await mkdir(path.join(citiesRoot, 'beta'));
  await symlink('.', path.join(city, 's'));
});
afterAll(removeFolders);

/** What is said of rigs at these paths, by the number of each; nothing belongs to anybody else. */
async function refusals(paths: readonly string[]): Promise<string[]> {
  const rigs = paths.map((at, n) => ({ file: 'city.toml', at: `rigs.${n}`, path: at }) as RigPath);
  const { places } = await rigsOutside(rigs, { city, citiesRoot }, new Ledger(), undefined);
  return places.flatMap(({ refusal }) => refusal(new Set()).map(({ key, message }) => `${key}: ${message}`));
}
const TOO_FAR = 'lies too deep, or behind too much that is not there';

it('refuses a rig that lies too deep, by whatever names, and no other', async () => {
  expect(await refusals(['here', 'a/b/c', 'd/'.repeat(1_900), `${'s/'.repeat(200)}../beta`, '../beta'])).toEqual([
    `rigs.2: ${TOO_FAR}`,
    `rigs.3: ${TOO_FAR}`,
  ]);
});

// Guard: files that name much that is not there have everybody wait.
it('looks for so much that is not there and no more', async () => {
  const deep = Array.from({ length: 200 }, (_, n) => `${n}/${'d/'.repeat(49)}`);
  expect(await refusals(deep)).toEqual([`rigs.80: ${TOO_FAR}`]);
});
