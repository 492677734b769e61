import { describe, expect, it } from '@jest/globals';
import { existsSync } from 'node:fs';
import { mountAbove, mountOf, mountsIn } from './mounts.js';

const INFO = String.raw`22 1 254:0 / / rw,relatime shared:1 - ext4 /dev/vda rw
30 22 0:40 / /nfs/a rw,relatime shared:2 - nfs4 files.example:/export/a rw,vers=4.2
31 22 0:41 / /nfs/b\040c rw,relatime - nfs4 files.example:/export/b rw
32 22 0:42 / /nfs/d rw - nfs4 [fd00::1]:/export/d rw
33 22 0:43 / /win rw - cifs //share.example/docs rw
34 22 0:44 / /ssh rw - fuse.sshfs me@far.example:/home rw
35 22 0:45 / /merged rw - fuse.mergerfs a:b rw
36 22 0:46 / /data rw - tmpfs tmpfs rw
37 22 0:47 / /data rw - ext4 /dev/vdb rw
`;

describe('mounts', () => {
  const at = (folder: string) => mountAbove(folder, mountsIn(INFO));

  it('finds the file system above a folder', () => {
    expect(at('/')).toEqual({ at: '/', disk: '/', isRemote: false, isLocal: true });
    expect(at('/nfs')?.at).toBe('/');
    expect(at('/nfs/ab')?.at).toBe('/');
    expect(at('/data/cities/crew')).toEqual({ at: '/data', disk: '/data', isRemote: false, isLocal: true });
    expect(at('/nfs/b c/d')?.at).toBe('/nfs/b c');
    expect(at('relative')).toBeUndefined();
  });

  // Guard: all mounts of one host count as one disk.
  it('counts what one other host serves as one disk', () => {
    expect(at('/nfs/a/x')).toEqual({ at: '/nfs/a', disk: 'nfs4 files.example', isRemote: true, isLocal: false });
    expect(at('/nfs/b c')?.disk).toBe('nfs4 files.example');
    expect(at('/nfs/d')?.disk).toBe('nfs4 [fd00::1]');
    expect(at('/win/x')?.disk).toBe('cifs //share.example');
    expect(at('/ssh')?.disk).toBe('fuse.sshfs me@far.example');
    expect(['/nfs/a', '/win', '/ssh', '/merged', '/data'].map((folder) => at(folder)?.isLocal)).toEqual([false, false, false, false, true]);
  });

  it('knows the mounts of this host', () => {
    // Elsewhere the system does not tell, and each folder counts by itself.
    if (!existsSync('/proc/self/mountinfo')) return expect(mountOf('/a/b').at).toBe('/a/b');
    expect(mountOf('/proc').at).toBe('/proc');
    expect(mountOf('/proc/self/fd').at).toMatch(/^\/proc(\/self)?$/);
    expect(mountOf('/process').at).toBe('/');
  });

  // Guard: the way to a mount is as long as the path, whatever is mounted.
  it('goes up the path, however much is mounted', () => {
    let asked = 0;
    const many = new Map(
      Array.from({ length: 5_000 }, (_, n) => [`/mnt/${n}`, { at: `/mnt/${n}`, disk: `/mnt/${n}`, isRemote: false, isLocal: true }]),
    );
    const counted = Object.assign(new Map(many), { get: (key: string) => (asked++, many.get(key)) });
    expect(mountAbove('/mnt/4999/a/b/c', counted)?.at).toBe('/mnt/4999');
    expect(asked).toBe(4);
  });
});
