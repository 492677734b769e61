import { lstat, readlink, realpath } from 'node:fs/promises';
import path from 'node:path';
import { identityAt } from './held.js';

const MAX_LINKS = 40;

/** What a program sees at a path: something of the host, read-only or not, or nothing. */
export interface Mount {
  /** Absolute and, as far as it exists, real. */
  readonly at: string;
  readonly mode: 'read' | 'write' | 'hidden';
  /** What of the host is shown; `at` itself unless given. */
  readonly from?: string;
  /** Which folder that has to be, as `identityOf` says it: somebody may put a link in its place before it is mounted. */
  readonly identity?: string;
  /** A file that may be replaced, as programs save theirs by a rename. Which one it has to be is looked at shortly before it is mounted. */
  readonly isRenewed?: true;
  /** A folder for this program's owner alone, shown to nobody else. */
  readonly isOwn?: true;
  /** Others that run already may put a link on the way to it, or in it. */
  readonly isContested?: true;
  /** What is shown lies where only the service makes anything of the way to it: whoever writes around it has the same mounted there. */
  readonly isKept?: true;
}

/** Outer ones first, so that an inner one is laid over them; of two for one path the later one counts. */
export function inOrder(mounts: readonly Mount[]): Mount[] {
  const byPath = new Map(mounts.map((mount) => [mount.at, mount]));
  return [...byPath.values()].sort((a, b) => (a.at < b.at ? -1 : 1));
}

/** The place of the host that is seen at a path inside, if any is. */
export function shownAt(mounts: readonly Mount[], at: string): string | undefined {
  let nearest: Mount | undefined;
  for (const mount of mounts) if (covers(mount.at, at) && mount.at.length >= (nearest?.at.length ?? 0)) nearest = mount;
  if (nearest === undefined || nearest.mode === 'hidden') return undefined;
  return (nearest.from ?? nearest.at) + at.slice(nearest.at.length);
}

/** Whether a path is another one, or lies below it. */
export function covers(outer: string, at: string): boolean {
  return at === outer || at.startsWith(outer.endsWith(path.sep) ? outer : outer + path.sep);
}

/** A folder that is written. Where it lies deeper in another one, whoever writes that may move what is between. */
export function writtenIn(around: string, at: string): Mount {
  const isContested = covers(around, at) && path.relative(around, at).includes(path.sep);
  return { at, mode: 'write', ...(isContested && { isContested }) };
}

/** Where agents write. */
export interface Changeable {
  /** Real paths. */
  readonly folders: readonly string[];
  /** Is told of what is not shown for a link in one of them. */
  readonly onLink?: (at: string, link: string) => void;
}

/** What is there, and where it really lies as well: a link of the home directory may lead anywhere. Not so one that an agent may have made. */
export async function existing(at: string, mode: Mount['mode'], changeable: Changeable = { folders: [] }): Promise<Mount[]> {
  const real = await leadsTo(at, changeable);
  if (real === undefined) return [];
  if (!changeable.folders.some((folder) => folder !== real && covers(folder, real))) return shown(at, mode, { from: real });
  // An agent could put a link there before it is mounted.
  const found = await lstat(real).catch(() => undefined);
  if (found !== undefined && !found.isDirectory() && !found.isSymbolicLink()) return shown(at, mode, { from: real, isRenewed: true });
  const identity = await identityAt(real).catch(() => undefined);
  return identity === undefined ? [] : shown(at, mode, { from: real, identity });
}

function shown(
  at: string,
  mode: Mount['mode'],
  { from: real, ...known }: Pick<Mount, 'identity' | 'isRenewed'> & { from: string },
): Mount[] {
  return real === at
    ? [{ at, mode, ...known }]
    : [
        { at, mode, from: real, ...known },
        { at: real, mode, ...known },
      ];
}

/** Undefined where nothing is, or a link on the way lies in one of the folders. */
async function leadsTo(at: string, { folders, onLink }: Changeable): Promise<string | undefined> {
  const real = await realpath(at).catch(() => undefined);
  if (real === undefined || real === at || folders.length === 0) return real;
  const todo = at.split(path.sep);
  let folder: string = path.sep;
  for (let links = 0; todo.length > 0;) {
    const next = path.join(folder, todo.shift()!);
    const target = await readlink(next).catch(() => undefined);
    if (target === undefined) folder = next;
    else if (++links > MAX_LINKS) return undefined;
    else if (folders.some((each) => covers(each, folder))) {
      onLink?.(at, next);
      return undefined;
    } else {
      todo.unshift(...target.split(path.sep));
      if (path.isAbsolute(target)) folder = path.sep;
    }
  }
  return folder;
}
