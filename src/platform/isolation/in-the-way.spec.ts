import { chmod, chown, mkdir, mkdtemp, readdir, realpath, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { openAgain } from './held.js';
import { identified } from './identified.js';
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

  // Guard: an agent would keep its own session from starting until a person has looked.
  it.each([0o000, 0o400, 0o500])('is opened again where it is the home that an agent has closed: %#', async (mode) => {
    const [own, host] = [path.join(home, "it's own"), path.join(home, 'host')];
    await Promise.all([own, host].map((at) => mkdir(at)));
    await Promise.all([home, own, host].map((at) => chown(at, USER, GROUP)));
    const mounts: Mount[] = [
      { at: '/home', from: own, mode: 'write', isOwn: true },
      { at: '/home/.local/bin', from: host, mode: 'read' },
    ];
    await chmod(own, mode);
    const [known] = await asUser(() => identified(mounts));
    await chmod(own, mode);
    const places = await asUser(() => onMountPoints([known!, mounts[1]!]));
    expect(places.map(({ at }) => at)).toEqual(['/home', '/home/.local', '/home/.local/bin']);
    expect((await stat(own)).mode & 0o777).toBe(0o700 | mode);
    await rm(own, { recursive: true });
    await expect(onMountPoints([known!, mounts[1]!])).rejects.toMatchObject({
      failure: 'not_found',
      message: `${own} is not there any more`,
    });
  });

  (isRoot ? it : it.skip)("ends a start where the home is somebody else's, and says which folder it is (skipped: not root)", async () => {
    await chmod(home, 0o755);
    const own = path.join(home, "it's own");
    await mkdir(own, { mode: 0o000 });
    await expect(asUser(() => openAgain(own))).rejects.toMatchObject({
      failure: 'unsupported',
      message: `${own} is closed; open it: chmod u+rwx '${home}/it'\\''s own'`,
      cause: { code: 'EPERM' },
    });
    await symlink('host', path.join(home, 'link'));
    await expect(openAgain(path.join(home, 'link'))).rejects.toThrow('is a link, or lies behind one');
  });
});
