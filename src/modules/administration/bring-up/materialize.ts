import { mkdir, realpath } from 'node:fs/promises';
import path from 'node:path';
import { lstat } from '../../files/composition/trees/placed.js';
import { errnoOf, isBelow } from '../../files/composition/trees/paths.js';
import { InitFailure } from './failure.js';
import { CONVENTION_DIRS, RUNTIME_DIRS } from '../../tenancy/cities/scaffold/files.js';

const CODE = 'city_init_failed';

/**
 * Makes sure that the directories are there which a running city needs.
 *
 * @param dir a real path
 */
export async function materialize(dir: string): Promise<void> {
  for (const relative of [...RUNTIME_DIRS, ...CONVENTION_DIRS]) {
    const at = path.join(dir, relative);
    // All of a city that was just made: to look is one call, to make it and to follow its path are many. A parent stands before its children in
    // the lists, so that no link that leads out is on the way to what is looked at here; without that, `isBelow` would have to be asked of each.
    if (await isFolder(at)) continue;
    try {
      await mkdir(at, { recursive: true, mode: 0o755 });
    } catch (error) {
      const errno = errnoOf(error) ?? 'unknown error';
      const structural = errno === 'EEXIST' || errno === 'ENOTDIR';
      throw new InitFailure(CODE, `${relative} cannot be made (${errno})`, structural ? 'structural' : 'transient', { cause: error });
    }
    if (!isBelow(dir, await realpath(at))) throw new InitFailure(CODE, `${relative} leads out of the city`);
  }
}

/** A link to one is none. */
async function isFolder(at: string): Promise<boolean> {
  return (await lstat(at).catch(() => undefined))?.isDirectory() === true;
}
