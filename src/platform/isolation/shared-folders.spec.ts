import { chmod, link, lstat, mkdir, mkdtemp, realpath, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { close, pass, share } from './shared-folders.js';

const GROUP = 1_998_000_001;
/** Only root may give files to a group that it is not in. */
const isRoot = process.getuid?.() === 0;
const SHARING = { group: GROUP, folders: 0o2770, files: 0o770, isAgents: (user: number) => user === 1_999_000_001 };
let base: string;
const at = (...parts: string[]): string => path.join(base, ...parts);

beforeEach(async () => {
  base = await realpath(await mkdtemp(path.join(tmpdir(), 'svc-shared-')));
  await mkdir(at('rig/src'), { recursive: true });
  await writeFile(at('rig/src/file'), '', { mode: 0o644 });
  await writeFile(at('rig/run'), '', { mode: 0o755 });
  await writeFile(at('secret'), '', { mode: 0o600 });
});
afterEach(() => rm(base, { recursive: true }));

async function found(...parts: string[]): Promise<[number, string]> {
  const { gid, mode } = await lstat(at(...parts));
  return [gid, (mode & 0o7777).toString(8)];
}

(isRoot ? describe : describe.skip)('a tree that a city shares (skipped: not root)', () => {
  it('is opened for its group and closed for others', async () => {
    await share(at('rig'), SHARING);
    expect([await found('rig'), await found('rig/src'), await found('rig/src/file'), await found('rig/run')]).toEqual([
      [GROUP, '2770'],
      [GROUP, '2770'],
      [GROUP, '660'],
      [GROUP, '770'],
    ]);
  });

  it('follows no link, and leaves what has a second name', async () => {
    await symlink(at('secret'), at('rig/link'));
    await link(at('secret'), at('rig/second'));
    await mkdir(at('outside'));
    await symlink(at('outside'), at('rig/folder'));
    const before = [await found('secret'), await found('outside')];
    await share(at('rig'), SHARING);
    expect([await found('secret'), await found('outside')]).toEqual(before);
    await symlink(at('rig'), at('other'));
    await expect(share(at('other'), SHARING)).rejects.toThrow('is a link, or lies behind one');
    await expect(share(at('other/src'), SHARING)).rejects.toThrow('is a link, or lies behind one');
  });

  it('is looked through once', async () => {
    await share(at('rig'), SHARING);
    await chmod(at('rig/src/file'), 0o600);
    await share(at('rig'), SHARING);
    expect(await found('rig/src/file')).toEqual([GROUP, '600']);
  });

  it('lies behind folders that can be gone through and not be listed', async () => {
    await chmod(base, 0o755);
    await pass(base);
    expect((await stat(base)).mode & 0o7777).toBe(0o751);
    await close(base);
    expect((await stat(base)).mode & 0o7777).toBe(0o751);
    await chmod(at('rig'), 0o755);
    await close(at('rig'));
    expect((await stat(at('rig'))).mode & 0o7777).toBe(0o750);
  });
});
