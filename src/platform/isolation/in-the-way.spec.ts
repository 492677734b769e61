import { chmod, chown, mkdir, mkdtemp, readdir, realpath, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { InTheWay, whichLies } from './in-the-way.js';
import { onMountPoints } from './mount-points.js';
import type { Mount } from './mounts.js';

const isRoot = process.getuid?.() === 0;
const USER = isRoot ? 65_534 : process.getuid!();
const GROUP = isRoot ? USER : process.getgid!();

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

/** Root may open everything. */
async function asUser<T>(work: () => Promise<T>): Promise<T> {
  if (!isRoot) return work();
  process.seteuid!(USER);
  try {
    return await work();
  } finally {
    process.seteuid!(0);
  }
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

  // Guard: an agent would keep its own session from starting until a person has looked.
  it.each([
    ['.local', 0o000],
    ['.local', 0o444],
    ['.local', 0o555],
    ['.local/bin', 0o000],
    ['.config', 0o500],
  ])('is moved where it is a folder that an agent has closed: %s, %#', async (closed, mode) => {
    const [own, host] = [path.join(home, 'own'), path.join(home, 'host')];
    const mounts: Mount[] = [
      { at: '/home', from: own, mode: 'write', isOwn: true },
      { at: '/home/.config/file', from: path.join(host, 'file'), mode: 'read' },
      { at: '/home/.local/bin', from: host, mode: 'read' },
    ];
    await Promise.all([path.join(own, closed), host].map((at) => mkdir(at, { recursive: true })));
    await writeFile(path.join(host, 'file'), 'x');
    await Promise.all([home, own, path.dirname(path.join(own, closed)), path.join(own, closed)].map((at) => chown(at, USER, GROUP)));
    await chmod(path.join(own, closed), mode);
    const moved: string[] = [];
    const places = await asUser(() => onMountPoints(mounts, (at) => moved.push(path.relative(own, at))));
    expect(moved).toEqual([closed]);
    expect(places.map(({ at }) => at)).toEqual(['/home', '/home/.config', '/home/.config/file', '/home/.local', '/home/.local/bin']);
  });

  it('ends a start where it is the home, and says which folder it is', async () => {
    await mkdir(path.join(home, 'host'));
    await Promise.all([home, path.join(home, 'host')].map((at) => chown(at, USER, GROUP)));
    await chmod(home, 0o500);
    const mounts: Mount[] = [
      { at: '/home', from: home, mode: 'write', isOwn: true },
      { at: '/home/.local/bin', from: path.join(home, 'host'), mode: 'read' },
    ];
    await expect(asUser(() => onMountPoints(mounts))).rejects.toMatchObject({
      failure: 'unsupported',
      message: expect.stringContaining(`${home} lies: it cannot be opened; move it away: mv '${home}' '${home}.away'`),
      cause: { code: 'EACCES' },
    });
    await chmod(home, 0o700);
  });
});
