import { existsSync, mkdirSync, readdirSync, renameSync, symlinkSync, writeFileSync } from 'node:fs';
import promises, { chmod, lchown, mkdir, mkdtemp, realpath, rm, symlink, writeFile } from 'node:fs/promises';
import { syncBuiltinESMExports } from 'node:module';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { removeTree } from './remove-tree.js';

let base: string;
let tree: string;
let victim: string;
beforeEach(async () => {
  base = await realpath(await mkdtemp(path.join(tmpdir(), 'remove-')));
  tree = path.join(base, 'tree');
  victim = path.join(base, 'victim');
  for (const at of [tree, victim]) await mkdir(path.join(at, 'in'), { recursive: true });
  await writeFile(path.join(victim, 'in/kept'), '');
});
afterEach(() => rm(base, { recursive: true, force: true }));

describe('a tree that agents write into', () => {
  it('goes with all that is in it, but for what links lead to', async () => {
    await writeFile(path.join(tree, 'in/file'), '');
    writeFileSync(Buffer.concat([Buffer.from(`${tree}/in/`), Buffer.from([0xff, 0xfe])]), '');
    await symlink(victim, path.join(tree, 'in/link'));
    await removeTree(tree);
    expect(readdirSync(base)).toEqual(['victim']);
    expect(existsSync(path.join(victim, 'in/kept'))).toBe(true);
  });

  it('may be a file, a link, or not there', async () => {
    await writeFile(path.join(tree, 'file'), '');
    await symlink(victim, path.join(tree, 'link'));
    for (const name of ['file', 'link', 'nothing', 'nothing/at/all']) await removeTree(path.join(tree, name));
    expect(readdirSync(tree)).toEqual(['in']);
    expect(existsSync(path.join(victim, 'in/kept'))).toBe(true);
  });

  it('takes nothing along that a link leads to which takes the place of an open folder', async () => {
    await writeFile(path.join(tree, 'in/file'), '');
    await removeTree(tree, (place) => {
      if (path.basename(place.toString()) !== 'in' || existsSync(path.join(base, 'moved'))) return;
      renameSync(path.join(tree, 'in'), path.join(base, 'moved'));
      symlinkSync(path.join(victim, 'in'), path.join(tree, 'in'));
    });
    expect(readdirSync(path.join(victim, 'in'))).toEqual(['kept']);
    expect(readdirSync(base).sort()).toEqual(['moved', 'victim']);
    expect(readdirSync(path.join(base, 'moved'))).toEqual([]);
  });

  it('takes nothing along that a link leads to which takes the place of a folder before it is opened', async () => {
    for (const name of ['in', 'other']) await mkdir(path.join(tree, name, 'deep'), { recursive: true });
    let others = ['in', 'other'];
    await removeTree(tree, (place) => {
      const name = path.basename(place.toString());
      if (!others.includes(name)) return;
      // Both have been found to be folders, and this one is open.
      for (const other of others.filter((each) => each !== name)) {
        renameSync(path.join(tree, other), path.join(base, 'moved'));
        symlinkSync(path.join(victim, 'in'), path.join(tree, other));
      }
      others = [];
    });
    expect(readdirSync(path.join(victim, 'in'))).toEqual(['kept']);
    expect(readdirSync(base).sort()).toEqual(['moved', 'victim']);
  });

  it('is not looked for behind a link', async () => {
    await symlink(victim, path.join(tree, 'link'));
    await expect(removeTree(path.join(tree, 'link/in'))).rejects.toThrow('is a link, or lies behind one');
    expect(readdirSync(path.join(victim, 'in'))).toEqual(['kept']);
  });

  it('goes when something is put into it meanwhile, and however deep it is', async () => {
    mkdirSync(path.join(tree, 'd/'.repeat(300)), { recursive: true });
    let late = 3;
    await removeTree(tree, (place) => {
      if (path.basename(place.toString()) === 'd' && late-- > 0) writeFileSync(path.join(tree, `late-${late}`), '');
    });
    expect(readdirSync(base)).toEqual(['victim']);
  });

  it('goes also when it is as deep as one path can make it', async () => {
    mkdirSync(path.join(tree, 'd/'.repeat(2_000)), { recursive: true });
    await removeTree(tree);
    expect(readdirSync(base)).toEqual(['victim']);
  });
});

describe('what may not be removed', () => {
  /** As the system answers a user who may not: tests run as root. */
  function deny(call: 'open' | 'unlink' | 'rmdir', names: string[], code = 'EACCES'): void {
    const real = promises[call] as (...args: unknown[]) => Promise<unknown>;
    jest.spyOn(promises, call).mockImplementation((async (...args: [Buffer]) => {
      const name = path.basename(String(args[0]));
      if (names.includes(name)) throw Object.assign(new Error(`${code}: ${call} ${name}`), { code });
      return real(...args);
    }) as never);
    syncBuiltinESMExports();
  }
  const left = (): string[] => readdirSync(tree, { recursive: true, encoding: 'utf8' }).sort();

  beforeEach(async () => {
    for (const name of ['a', 'b', 'c']) await mkdir(path.join(tree, name, 'in'), { recursive: true });
    for (let n = 0; n < 30; n++) for (const at of ['in', 'b/in', 'c/in']) await writeFile(path.join(tree, at, `${n}`), '');
  });
  afterEach(() => {
    jest.restoreAllMocks();
    syncBuiltinESMExports();
  });

  it('keeps no file and no folder beside it, and is told', async () => {
    // In each folder, whichever comes first, and more than are removed at a time.
    const stuck = Array.from({ length: 30 }, (_, n) => `${'abc'[n % 3]}/stuck-${n}`);
    for (const name of stuck) await writeFile(path.join(tree, name), '');
    deny(
      'unlink',
      stuck.map((name) => path.basename(name)),
    );
    await expect(removeTree(tree)).rejects.toThrow('EACCES: unlink stuck-');
    expect(left()).toEqual(['a', 'b', 'c', ...stuck].sort());
  });

  it('keeps nothing that is deep', async () => {
    mkdirSync(path.join(tree, 'd/'.repeat(100)), { recursive: true });
    await writeFile(path.join(tree, 'a/stuck'), '');
    deny('unlink', ['stuck'], 'EPERM');
    await expect(removeTree(tree)).rejects.toThrow('EPERM: unlink stuck');
    expect(left()).toEqual(['a', 'a/stuck']);
  });

  it('may be a folder, whose content goes', async () => {
    deny('unlink', ['b']);
    deny('rmdir', ['b']);
    await expect(removeTree(tree)).rejects.toThrow('EACCES: rmdir b');
    expect(left()).toEqual(['b']);
  });

  it('is no folder that is empty and may not be read', async () => {
    await mkdir(path.join(tree, 'unread'));
    deny('open', ['unread']);
    await removeTree(tree);
    expect(readdirSync(base)).toEqual(['victim']);
  });

  async function closedByUs(mode: number): Promise<unknown> {
    const user = 65_534;
    const isRoot = process.getuid!() === 0;
    if (isRoot) for (const at of ['', ...left()]) await lchown(path.join(tree, at), user, user);
    for (const at of ['a/in', 'a', 'b/in']) await chmod(path.join(tree, at), mode);
    await chmod(base, 0o777);
    if (isRoot) process.seteuid!(user);
    try {
      return await removeTree(tree).catch((error: unknown) => error);
    } finally {
      if (isRoot) process.seteuid!(0);
    }
  }

  // Guard: what an agent has closed would stay on the disk for ever, a cache of modules for instance.
  it.each([0o000, 0o500, 0o555])('is nothing that only was closed by our own user: %#', async (mode) => {
    expect(await closedByUs(mode)).toBeUndefined();
    expect(readdirSync(base)).toEqual(['victim']);
  });

  it('keeps nothing that was closed by our own user, whatever else stays', async () => {
    await writeFile(path.join(tree, 'stuck'), '');
    deny('unlink', ['stuck'], 'EPERM');
    expect(await closedByUs(0o500)).toMatchObject({ code: 'EPERM' });
    expect(left()).toEqual(['stuck']);
  });

  it('is a folder that may not be read and holds something', async () => {
    await mkdir(path.join(tree, 'unread/in'), { recursive: true });
    deny('open', ['unread']);
    await expect(removeTree(tree)).rejects.toThrow('EACCES: open unread');
    expect(left()).toEqual(['unread', 'unread/in']);
  });
});
