import { lstat, opendir, realpath } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { removeTree } from '../runtime/preparation/remove-tree.js';
import { atOnce } from '../time/at-once.js';

/** Where everybody on a host may leave files, beside the folder of temporary files. */
const OPEN = ['/tmp', '/var/tmp', '/dev/shm'];
/** Names of others in one folder that are looked at: whoever fills it must not keep the next command waiting. */
const MAX_OTHERS = 2_000;
/** Names that are looked at together, and how many of them at a time. */
const TOGETHER = 64;
const CONCURRENCY = 8;

/**
 * Removes what a user has left where everybody may write. Nothing runs as that user.
 *
 * @param full is called with a folder that has more of others than is looked at: something of the user's may stay in there
 * @throws what the system says of the first that cannot be removed, once all else has gone
 */
export async function removeLeft(
  user: number,
  full: (folder: string) => void,
  { folders = [tmpdir(), ...OPEN], most = MAX_OTHERS } = {},
): Promise<void> {
  const real = await Promise.all(folders.map((at) => realpath(at).catch(() => undefined)));
  const failures: unknown[] = [];
  for (const folder of new Set(real)) {
    if (folder === undefined) continue;
    let others = 0;
    for await (const names of namesIn(folder)) {
      if (others >= most) {
        full(folder);
        break;
      }
      const own: string[] = [];
      await atOnce(CONCURRENCY, names, async (name) => {
        const at = path.join(folder, name);
        const found = await lstat(at).catch(() => undefined);
        if (found?.uid === user) own.push(at);
        else others++;
      });
      // One after the other: each has many folders open, where it is deep.
      for (const at of own) await removeTree(at).catch((error: unknown) => failures.push(error));
    }
  }
  if (failures.length > 0) throw failures[0];
}

/** Some at a time. */
async function* namesIn(folder: string): AsyncGenerator<string[]> {
  let names: string[] = [];
  try {
    for await (const { name } of await opendir(folder, { bufferSize: TOGETHER })) {
      if (names.push(name) < TOGETHER) continue;
      yield names;
      names = [];
    }
  } catch {
    // It has gone, or is no folder.
  }
  if (names.length > 0) yield names;
}
