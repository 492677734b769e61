import { readFileSync } from 'node:fs';

/** Where a file system is mounted. */
export interface Mount {
  readonly at: string;
  /** What answers for it. All that is mounted from one other host stops to answer together, so it has one name. */
  readonly disk: string;
  /** Whether it is on another host, or served by a program: such a one may not answer for as long as it likes. */
  readonly isRemote: boolean;
  /** Whether it is one of this machine that always answers: every change passes through the kernel here, which tells at once what it has in mind of a file. */
  readonly isLocal: boolean;
}

/** For so long the list of mounts is taken as it was. */
const MOUNTS_MS = 1_000;
const REMOTE = /^(nfs4?|cifs|smb3|smbfs|ceph|glusterfs|lustre|beegfs|gpfs|afs|9p|virtiofs|autofs|fuse(\..+)?)$/;
const LOCAL = /^(ext[234]|xfs|btrfs|bcachefs|zfs|f2fs|tmpfs|ramfs|overlay)$/;

let mounts: ReadonlyMap<string, Mount> = new Map();
let mountsAt = -Infinity;

/** Where the file system of a folder is mounted, without asking that; the folder itself where the system does not tell. */
export function mountOf(folder: string): Mount {
  if (performance.now() - mountsAt > MOUNTS_MS) {
    mounts = mountsIn(mountInfo());
    mountsAt = performance.now();
  }
  return mountAbove(folder, mounts) ?? { at: folder, disk: folder, isRemote: false, isLocal: false };
}

export const diskOf = (folder: string): string => mountOf(folder).disk;

/** Goes up from the folder: a host may have thousands of mounts, and each file of a city is asked for here. */
export function mountAbove(folder: string, among: ReadonlyMap<string, Mount>): Mount | undefined {
  for (let at = folder; ;) {
    const found = among.get(at);
    if (found !== undefined) return found;
    const end = at.lastIndexOf('/');
    if (at === '/' || end < 0) return undefined;
    at = end === 0 ? '/' : at.slice(0, end);
  }
}

/** What `/proc/self/mountinfo` says, by where it is mounted; of several at one place the last, which covers the others. */
export function mountsIn(info: string): ReadonlyMap<string, Mount> {
  const found = new Map<string, Mount>();
  for (const line of info.split('\n')) {
    const [place = '', kind = ''] = line.split(' - ');
    const at = place.split(' ')[4];
    if (at === undefined) continue;
    const [type = '', source = ''] = kind.split(' ');
    const mount = unescaped(at);
    const host = /^(?:\/\/[^/]+|[^/]+(?=:))/.exec(unescaped(source))?.[0];
    const isRemote = REMOTE.test(type);
    found.set(mount, { at: mount, disk: isRemote && host !== undefined ? `${type} ${host}` : mount, isRemote, isLocal: LOCAL.test(type) });
  }
  return found;
}

function mountInfo(): string {
  try {
    return readFileSync('/proc/self/mountinfo', 'latin1');
  } catch {
    return '';
  }
}

/** Blanks and the like are written as three octal digits. */
function unescaped(text: string): string {
  const bytes = text.replace(/\\([0-7]{3})/g, (_, octal: string) => String.fromCharCode(Number.parseInt(octal, 8)));
  return Buffer.from(bytes, 'latin1').toString();
}
