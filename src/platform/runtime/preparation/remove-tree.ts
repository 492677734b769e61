import { randomUUID } from 'node:crypto';
import { open, readdir, rename, rm, rmdir, unlink } from 'node:fs/promises';
import { atOnce } from '../../time/at-once.js';
import { FOLDER, HOLDS, inFolderOf, throughHandle } from './held-folder.js';

/** Files of one folder at a time. */
const CONCURRENCY = 8;
/** Folders that are open at a time, one in the other. What lies deeper is moved up first. */
const MAX_DEPTH = 32;
/** Ways through a tree that somebody still writes into, or that is deep. */
const MAX_PASSES = 64;
/** What is there is another thing than a moment ago, or there is more of it: the next look tells. */
const PASSING = new Set(['ENOENT', 'ENOTEMPTY', 'EEXIST', 'ENOTDIR', 'ELOOP']);

/** For tests: is called when a folder is open, before it is listed. */
type Opened = (place: Buffer) => void;

/**
 * Removes whatever lies at a path, if anything, with all that is in it, although agents may write there meanwhile: every name is taken away out of a
 * folder that is held open, so that what lies behind a link stays, also behind one that has just taken the place of a folder. `rm` of Node goes
 * by paths, which lead elsewhere by then.
 *
 * @param at absolute, with every link above it resolved
 * @throws StartError unsupported when a folder above it is a link; what the system says when something cannot be removed
 */
export async function removeTree(at: string, opened?: Opened): Promise<void> {
  try {
    await inFolderOf(at, (place) => removePlace(place, opened));
  } catch (error) {
    if (codeOf(error) !== 'ENOENT') throw error;
  }
}

/** As `removeTree`. @param place in a folder that is held open */
export async function removePlace(place: string, opened?: Opened): Promise<void> {
  if (!HOLDS) return rm(place, { recursive: true, force: true });
  const named = Buffer.from(place);
  for (let pass = 1; !(await unlinked(named)); pass++) {
    const left = await swept(named, undefined, 1, opened);
    if (left === undefined) return;
    if (pass === MAX_PASSES) throw left;
  }
}

/** One way through a folder; answers why it is still there. */
async function swept(place: Buffer, top: Buffer | undefined, depth: number, opened?: Opened): Promise<Error | undefined> {
  try {
    const handle = await open(place, FOLDER);
    try {
      opened?.(place);
      const held = Buffer.from(throughHandle(handle, place.toString()));
      const folders: Buffer[] = [];
      await atOnce(CONCURRENCY, await readdir(held, { encoding: 'buffer' }), async (name) => {
        const at = within(held, name);
        if (!(await unlinked(at))) folders.push(at);
      });
      for (const at of folders)
        if (depth < MAX_DEPTH) await swept(at, top ?? held, depth + 1, opened);
        else await rename(at, within(top!, Buffer.from(randomUUID())));
    } finally {
      await handle.close();
    }
    await rmdir(place);
    return undefined;
  } catch (error) {
    if (PASSING.has(codeOf(error) ?? '')) return error as Error;
    throw error;
  }
}

/** True when nothing is there, or nothing is there any more; false for a folder. */
async function unlinked(place: Buffer): Promise<boolean> {
  try {
    await unlink(place);
    return true;
  } catch (error) {
    if (codeOf(error) === 'EISDIR') return false;
    if (codeOf(error) === 'ENOENT') return true;
    throw error;
  }
}

/** Names are bytes: agents need not write UTF-8. */
function within(folder: Buffer, name: Buffer): Buffer {
  return Buffer.concat([folder, Buffer.from('/'), name]);
}

function codeOf(error: unknown): string | undefined {
  return (error as NodeJS.ErrnoException).code;
}
