import { realpath } from 'node:fs/promises';
import path from 'node:path';

/** What a program sees at a path: something of the host, read-only or not, or nothing. */
export interface Mount {
  /** Absolute and, as far as it exists, real. */
  readonly at: string;
  readonly mode: 'read' | 'write' | 'hidden';
  /** What of the host is shown; `at` itself unless given. */
  readonly from?: string;
  /** Which folder that has to be, as `identityOf` says it: somebody may put a link in its place before it is mounted. */
  readonly identity?: string;
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

/** What is there, and where it really lies as well: a link of the home directory may lead anywhere. */
export async function existing(at: string, mode: Mount['mode']): Promise<Mount[]> {
  const real = await realpath(at).catch(() => undefined);
  if (real === undefined) return [];
  return real === at
    ? [{ at, mode }]
    : [
        { at, mode, from: real },
        { at: real, mode },
      ];
}
