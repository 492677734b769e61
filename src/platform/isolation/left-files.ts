import { lstat, opendir, realpath } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { removeTree } from '../runtime/preparation/remove-tree.js';

/** Where everybody on a host may leave files, beside the folder of temporary files. */
const OPEN = ['/tmp', '/var/tmp', '/dev/shm'];
/** Names of one folder that are looked at: others may have filled it. */
const MAX_LISTED = 20_000;

/**
 * Removes what a user has left where everybody may write. Nothing runs as that user.
 *
 * @throws what the system says of the first that cannot be removed, once all else has gone
 */
export async function removeLeft(user: number): Promise<void> {
  const real = await Promise.all([tmpdir(), ...OPEN].map((at) => realpath(at).catch(() => undefined)));
  const failures: unknown[] = [];
  for (const folder of new Set(real)) {
    if (folder === undefined) continue;
    for (const name of await namesIn(folder)) {
      const at = path.join(folder, name);
      const found = await lstat(at).catch(() => undefined);
      if (found?.uid === user) await removeTree(at).catch((error: unknown) => failures.push(error));
    }
  }
  if (failures.length > 0) throw failures[0];
}

async function namesIn(folder: string): Promise<string[]> {
  const names: string[] = [];
  try {
    for await (const { name } of await opendir(folder)) if (names.push(name) === MAX_LISTED) break;
  } catch {
    // It has gone, or is no folder.
  }
  return names;
}
