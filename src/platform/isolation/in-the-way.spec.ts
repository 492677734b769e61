import { mkdir, mkdtemp, readdir, realpath, rm, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { InTheWay, whichLies } from './in-the-way.js';

let home: string;
beforeEach(async () => {
  home = await realpath(await mkdtemp(path.join(tmpdir(), 'svc-way-')));
});
afterEach(() => rm(home, { recursive: true }));

/** As what lies at these names is judged now. */
async function judged(...names: string[]): Promise<InTheWay> {
  const which = await whichLies(path.join(home, ...names));
  return new InTheWay({ at: '/home', from: home, mode: 'write', isOwn: true }, names, 'it is no folder', { names, which });
}

describe('what is in the way', () => {
  // Guard: what an agent needs would be gone from its place.
  it('stays where something else has its name by then', async () => {
    await symlink('/', path.join(home, '.local'));
    const link = await judged('.local');
    await rm(path.join(home, '.local'));
    await mkdir(path.join(home, '.local'));
    expect(await link.moveAway()).toBeUndefined();
    expect(await readdir(home)).toEqual(['.local']);
    await rm(path.join(home, '.local'), { recursive: true });
    expect(await link.moveAway()).toBeUndefined();
    await symlink('/', path.join(home, '.local'));
    expect(await (await judged('.local')).moveAway()).toMatch(/\/\.local\.away-[0-9a-f]{12}$/);
  });

  it('is what a start ends with where it cannot be moved, and the system says why', async () => {
    const link = await judged('x'.repeat(256), 'y');
    await expect(link.moveAway()).rejects.toBe(link);
    expect(link).toMatchObject({ failure: 'unsupported', cause: { code: 'ENAMETOOLONG' } });
  });
});
