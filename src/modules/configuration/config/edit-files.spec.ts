import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import {
  chmod,
  link,
  lstat,
  mkdir,
  mkdtemp,
  readFile,
  readdir,
  realpath,
  rename,
  rm,
  rmdir,
  stat,
  symlink,
  truncate,
  writeFile,
} from 'node:fs/promises';
import { syncBuiltinESMExports } from 'node:module';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { HeldFolder } from '../../../platform/runtime/preparation/held-folder.js';
import { applyPlan, EditConflict, forgetRemoved, undoPlan } from './edit-files.js';
import { hashOf, type EditPlan } from './edit-plan.js';
import { swap } from './swap.js';

let city: string;
const at = (file: string): string => path.join(city, file);
const now = (file: string): Promise<string | undefined> => readFile(at(file), 'utf8').catch(() => undefined);
const plan = (text: string): EditPlan => ({ id: 'edit-1', writes: [], removals: ['a.toml'], removed: { 'a.toml': hashOf(text) } });

beforeEach(async () => {
  city = await realpath(await mkdtemp(path.join(tmpdir(), 'svc-edit-')));
  await writeFile(at('a.toml'), 'a = 1\n');
});
afterEach(() => rm(city, { recursive: true }));

describe('a file that an edit takes away', () => {
  it('goes, comes back when the edit is taken back, and is given up with it', async () => {
    await applyPlan(city, plan('a = 1\n'), () => Promise.resolve());
    expect(await now('a.toml')).toBeUndefined();
    await undoPlan(city, plan('a = 1\n'));
    expect(await now('a.toml')).toBe('a = 1\n');
    await applyPlan(city, plan('a = 1\n'), () => Promise.resolve());
    await forgetRemoved(city, plan('a = 1\n'));
    await undoPlan(city, plan('a = 1\n'));
    expect(await now('a.toml')).toBeUndefined();
  });

  it('stays when somebody has saved it meanwhile', async () => {
    await expect(applyPlan(city, plan('a = 0\n'), () => Promise.resolve())).rejects.toThrow(EditConflict);
    await undoPlan(city, plan('a = 0\n'));
    expect(await now('a.toml')).toBe('a = 1\n');
  });

  it('comes back behind a link inside the city', async () => {
    await mkdir(at('real'));
    await symlink('real', at('linked'));
    await writeFile(at('real/b.toml'), 'b = 1\n');
    const both: EditPlan = { id: 'edit-1', writes: [], removals: ['linked/b.toml'] };
    await applyPlan(city, both, () => Promise.resolve());
    expect(await now('real/b.toml')).toBeUndefined();
    await undoPlan(city, both);
    expect(await now('real/b.toml')).toBe('b = 1\n');
  });

  it('is a conflict when it is not there', async () => {
    await rm(at('a.toml'));
    await expect(applyPlan(city, plan('a = 1\n'), () => Promise.resolve())).rejects.toThrow(EditConflict);
  });
});

// It costs no room on the disk, and to read it everybody would wait.
describe('a file that becomes larger than any edit makes it', () => {
  const edit: EditPlan = { id: 'edit-1', writes: [{ path: 'a.toml', before: 'a = 1\n', after: 'a = 2\n' }], removals: [] };
  const grow = (): Promise<void> => truncate(at('a.toml'), 3 * 1024 ** 3);

  it('is a conflict, and stays', async () => {
    await grow();
    const error: unknown = await applyPlan(city, edit, () => Promise.resolve()).catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({ found: 'a file that is larger than any edit makes it' });
    expect((await stat(at('a.toml'))).size).toBe(3 * 1024 ** 3);
  });

  it('stays when the edit is taken back', async () => {
    await applyPlan(city, edit, () => Promise.resolve());
    await grow();
    await undoPlan(city, edit);
    expect((await stat(at('a.toml'))).size).toBe(3 * 1024 ** 3);
  });
});

// Agents may write beside the files of their city, and see the names of temporary files.
describe('what stands in the place of a temporary file', () => {
  let outside: string;
  const two: EditPlan = {
    id: 'edit-1',
    writes: [
      { path: 'a.toml', before: 'a = 1\n', after: 'a = 2\n' },
      { path: 'b.toml', before: null, after: 'b = 2\n' },
    ],
    removals: [],
  };

  beforeEach(async () => {
    outside = path.join(await mkdtemp(path.join(tmpdir(), 'svc-other-')), 'city.toml');
    await writeFile(outside, 'theirs\n');
    await chmod(outside, 0o640);
  });
  afterEach(async () => {
    expect(await readFile(outside, 'utf8')).toBe('theirs\n');
    expect((await stat(outside)).mode & 0o777).toBe(0o640);
    await rm(path.dirname(outside), { recursive: true });
  });

  it.each([
    ['a link', (name: string) => symlink(outside, name)],
    ['another name of a file', (name: string) => link(outside, name)],
    ['a pipe', (name: string) => Promise.resolve(execFileSync('mkfifo', [name]))],
  ])('is not written to: %s', async (_what, put) => {
    await applyPlan(city, two, () =>
      put(at('.svc-edit-1.new.b.toml')).then(
        () => undefined,
        () => undefined,
      ),
    );
    expect([await now('a.toml'), await now('b.toml')]).toEqual(['a = 2\n', 'b = 2\n']);
    expect((await lstat(at('b.toml'))).isFile()).toBe(true);
  });

  it('is not put back when it is a link', async () => {
    await writeFile(at('a.toml'), 'a = 2\n');
    await symlink(outside, at('.svc-edit-1.old.a.toml'));
    await undoPlan(city, two);
    expect(await now('a.toml')).toBe('a = 1\n');
    expect((await lstat(at('a.toml'))).isFile()).toBe(true);
  });

  it('gets no mode when it is a link', async () => {
    await symlink(outside, at('next'));
    expect(() => swap(at('a.toml'), at('next'), hashOf('a = 1\n'), at('aside'))).toThrow('ELOOP');
    expect(await now('a.toml')).toBe('a = 1\n');
  });
});

describe('a file that an edit replaces while the disk fails', () => {
  const whole = { linkSync: fs.linkSync, openSync: fs.openSync, renameSync: fs.renameSync };
  const edit: EditPlan = { id: 'edit-1', writes: [{ path: 'a.toml', before: 'a = 1\n', after: 'a = 2\n' }], removals: [] };
  const fail = (code: string): never => {
    throw Object.assign(new Error(code), { code });
  };
  /** Until the end of the test, or `mend()`. */
  const failing = (...calls: Partial<typeof whole>[]): void => {
    Object.assign(fs, ...calls);
    syncBuiltinESMExports();
  };
  const mend = (): void => failing(whole);
  const noRoom = { linkSync: () => fail('ENOSPC') };
  /** The file that was moved aside cannot be read. */
  const noHandles = {
    openSync: ((at: string, ...more: [number]) =>
      at.includes('.old.') ? fail('EMFILE') : whole.openSync(at, ...more)) as typeof fs.openSync,
  };
  /** Nor can it be moved back. */
  const noWay = {
    renameSync: ((from: string, to: string) => (from.includes('.old.') ? fail('EIO') : whole.renameSync(from, to))) as typeof fs.renameSync,
  };
  afterEach(mend);

  it.each([
    ['there is room for no name', 'ENOSPC', noRoom],
    ['no file can be opened', 'EMFILE', noHandles],
  ])('is what it was at once: %s', async (_what, code, calls) => {
    failing(calls);
    await expect(applyPlan(city, edit, () => Promise.resolve())).rejects.toMatchObject({ code });
    expect(await readdir(city)).toEqual(['a.toml']);
    expect(await now('a.toml')).toBe('a = 1\n');
    mend();
    await undoPlan(city, edit);
    expect(await now('a.toml')).toBe('a = 1\n');
  });

  // Guard: an edit that fails takes no last name of a file away.
  it('is not lost when it cannot be put back', async () => {
    failing(noRoom, noWay);
    await expect(applyPlan(city, edit, () => Promise.resolve())).rejects.toMatchObject({ code: 'EIO' });
    expect(await readdir(city)).toEqual(['.svc-edit-1.old.a.toml']);
    mend();
    await undoPlan(city, edit);
    expect(await readdir(city)).toEqual(['a.toml']);
    expect(await now('a.toml')).toBe('a = 1\n');
  });

  // Guard: what somebody has saved late outlives an edit that cannot give it back.
  it.each([
    ['looked at', 'EMFILE', () => fail('EMFILE'), {}],
    [
      'put back',
      'ENOSPC',
      () => undefined,
      {
        linkSync: ((from: string, to: string) =>
          from.includes('.old.') ? fail('ENOSPC') : whole.linkSync(from, to)) as typeof fs.linkSync,
      },
    ],
  ])('has what was saved late when that cannot be %s', async (_what, code, then, calls) => {
    let looks = 0;
    const openSync = ((at: string, ...more: [number]) => {
      if (at.includes('.old.') && ++looks === 2) {
        fs.writeFileSync(at, 'a = "late"\n');
        then();
      }
      return whole.openSync(at, ...more);
    }) as typeof fs.openSync;
    failing({ openSync }, calls);
    await expect(applyPlan(city, edit, () => Promise.resolve())).rejects.toMatchObject({ code });
    mend();
    await undoPlan(city, edit);
    expect(await readdir(city)).toEqual(['a.toml']);
    expect(await now('a.toml')).toBe('a = "late"\n');
  });
});

describe('a folder that becomes a link to another city', () => {
  let other: string;
  beforeEach(async () => {
    other = await realpath(await mkdtemp(path.join(tmpdir(), 'svc-other-')));
    await writeFile(path.join(other, 'a.toml'), 'a = 1\n');
    await mkdir(at('desk'));
    await writeFile(at('desk/a.toml'), 'a = 1\n');
  });
  afterEach(async () => {
    expect(await readdir(other)).toEqual(['a.toml']);
    expect(await readFile(path.join(other, 'a.toml'), 'utf8')).toBe('a = 1\n');
    await rm(other, { recursive: true });
  });

  /** Right after the folder was found where it should be. */
  function swapsFolder(): { mockRestore: () => void } {
    const open = HeldFolder.open.bind(HeldFolder);
    return jest.spyOn(HeldFolder, 'open').mockImplementation(async (directory) => {
      const folder = await open(directory);
      if (directory === at('desk')) {
        await rename(at('desk'), at('away'));
        await symlink(other, at('desk'));
      }
      return folder;
    });
  }

  it('has nothing of it changed', async () => {
    const writes = [{ path: 'desk/a.toml', before: 'a = 1\n', after: 'a = 2\n' }];
    const swaps = swapsFolder();
    try {
      await expect(applyPlan(city, { id: 'edit-1', writes, removals: [] }, () => Promise.resolve())).rejects.toThrow(EditConflict);
    } finally {
      swaps.mockRestore();
    }
  });

  it('has nothing put into it', async () => {
    await mkdir(at('.gc/cache'), { recursive: true });
    await mkdir(path.join(other, 'edit-1'));
    await symlink(other, at('.gc/cache/removed'));
    await expect(applyPlan(city, plan('a = 1\n'), () => Promise.resolve())).rejects.toThrow(EditConflict);
    expect(await now('a.toml')).toBe('a = 1\n');
    await rmdir(path.join(other, 'edit-1'));
  });

  it('has nothing removed from it', async () => {
    await applyPlan(city, plan('a = 1\n'), () => Promise.resolve());
    await rename(at('.gc/cache/removed'), at('.gc/cache/mine'));
    await mkdir(path.join(other, 'edit-1'));
    await symlink(other, at('.gc/cache/removed'));
    await expect(forgetRemoved(city, plan('a = 1\n'))).rejects.toThrow('lies behind one');
    await rmdir(path.join(other, 'edit-1'));
  });

  it('has nothing taken out of it', async () => {
    await rm(at('a.toml'));
    await mkdir(at('.gc/cache/removed'), { recursive: true });
    await symlink(other, at('.gc/cache/removed/edit-1'));
    await undoPlan(city, plan('a = 1\n'));
    expect(await now('a.toml')).toBeUndefined();
  });
});
