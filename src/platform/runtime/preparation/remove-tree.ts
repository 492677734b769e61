import { randomUUID } from 'node:crypto';
import { constants } from 'node:fs';
import { chmod, lstat, open, readdir, rename, rm, rmdir, unlink } from 'node:fs/promises';
import { atOnce } from '../../time/at-once.js';
import { FOLDER, HOLDS, inFolderOf, throughHandle } from './held-folder.js';

/** How a folder is looked at that may not be opened: O_PATH, which Node has no name for. */
const NAMED = 0o10000000 | constants.O_DIRECTORY | constants.O_NOFOLLOW;
/** Files of one folder at a time. */
const CONCURRENCY = 8;
/** Folders that are open at a time, one in the other. What lies deeper is moved up first. */
const MAX_DEPTH = 32;
/** Ways through a tree that somebody still writes into. */
const MAX_PASSES = 64;
/** Ways that bring up what is deep, 31 levels each: of 126,976 levels, which take a minute of a processor. It has to end for whoever makes more and more. */
const MAX_MOVING = 4_096;
/** What is there is another thing than a moment ago, or there is more of it: the next look tells. */
const PASSING = new Set(['ENOENT', 'ENOTEMPTY', 'EEXIST', 'ENOTDIR', 'ELOOP']);

/** For tests: is called when a folder is open, before it is listed. */
type Opened = (place: Buffer) => void;

/** What one way through a tree has met. */
interface Way {
  readonly opened: Opened | undefined;
  /** Folders are opened for us first: an agent, which is our own user, has closed some of them, as programs do that keep what they fetch. */
  readonly opensClosed: boolean;
  /** Why the first of what cannot be removed stays. */
  failed?: Error;
  /** Whether any of it stays because it is closed. */
  denied?: true;
  /** Why another way may get further. */
  passing?: Error;
  /** Something deep has come up, and is there still. */
  moved: boolean;
}

/**
 * Removes whatever lies at a path, if anything, with all that is in it, although agents may write there meanwhile: every name is taken away out of a
 * folder that is held open, so that what lies behind a link stays, also behind one that has just taken the place of a folder. `rm` of Node goes
 * by paths, which lead elsewhere by then. What cannot be removed keeps nothing beside it. As many folders are open meanwhile as the tree is
 * deep, 32 at the most: whoever has many trees removes one after the other.
 *
 * @param at absolute, with every link above it resolved
 * @throws StartError unsupported when a folder above it is a link; what the system says of the first that cannot be removed, once all else has gone
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
  let passes = 0;
  let moving = 0;
  let opensClosed = false;
  while (!(await unlinked(named))) {
    const way: Way = { opened, opensClosed, moved: false };
    await swept(named, undefined, 1, way);
    const { failed, passing, moved } = way;
    const left = failed ?? passing;
    if (left === undefined) return;
    if (!opensClosed && way.denied) {
      opensClosed = true;
      continue;
    }
    const isLast = moved ? ++moving === MAX_MOVING : ++passes === MAX_PASSES;
    if (isLast || (passing === undefined && !moved)) throw left;
  }
}

/** Goes once through a folder. Answers false when something in it cannot be removed. */
function swept(place: Buffer, top: Buffer | undefined, depth: number, way: Way): Promise<boolean> {
  return tried(way, async () => {
    if (way.opensClosed) await openForUs(place);
    const handle = await open(place, FOLDER).catch((error: unknown) => removeUnread(place, error));
    if (handle === undefined) return true;
    let isEmpty = true;
    try {
      way.opened?.(place);
      const held = Buffer.from(throughHandle(handle, place.toString()));
      const folders: Buffer[] = [];
      await atOnce(CONCURRENCY, await readdir(held, { encoding: 'buffer' }), async (name) => {
        const at = within(held, name);
        const isGone = await tried(way, async () => {
          if (!(await unlinked(at))) folders.push(at);
          return true;
        });
        isEmpty &&= isGone;
      });
      for (const at of folders) {
        const isGone = depth < MAX_DEPTH ? await swept(at, top ?? held, depth + 1, way) : await movedUp(at, top!, way);
        isEmpty &&= isGone;
      }
    } finally {
      await handle.close();
    }
    if (isEmpty) await rmdir(place);
    return isEmpty;
  });
}

/** Does one thing on a way, which goes on when that fails. Answers false when it will fail again. */
async function tried(way: Way, work: () => Promise<boolean>): Promise<boolean> {
  try {
    return await work();
  } catch (error) {
    const isPassing = PASSING.has(codeOf(error) ?? '');
    if (codeOf(error) === 'EACCES') way.denied = true;
    if (isPassing) way.passing ??= error as Error;
    else way.failed ??= error as Error;
    return isPassing;
  }
}

function movedUp(at: Buffer, top: Buffer, way: Way): Promise<boolean> {
  return tried(way, async () => {
    if (way.opensClosed) await openForUs(at);
    await rename(at, within(top, Buffer.from(randomUUID())));
    return (way.moved = true);
  });
}

/** One that is somebody else's stays as it is: what cannot be removed then is told. */
async function openForUs(place: Buffer): Promise<void> {
  const handle = await open(place, NAMED).catch(() => undefined);
  if (handle === undefined) return;
  try {
    await chmod(throughHandle(handle, ''), constants.S_IRWXU).catch(() => undefined);
  } finally {
    await handle.close();
  }
}

/** A folder that may not be read goes when it is empty. @param denied why it was not opened @throws it, unless that was all it took */
async function removeUnread(place: Buffer, denied: unknown): Promise<undefined> {
  if (codeOf(denied) !== 'EACCES') throw denied;
  await rmdir(place).catch((error: unknown) => {
    throw codeOf(error) === 'ENOTEMPTY' ? denied : error;
  });
}

/** True when nothing is there, or nothing is there any more; false for a folder. */
async function unlinked(place: Buffer): Promise<boolean> {
  try {
    await unlink(place);
    return true;
  } catch (error) {
    const code = codeOf(error);
    if (code === 'EISDIR') return false;
    if (code === 'ENOENT') return true;
    // Where nothing may be taken away, the system does not look what it is. What is in a folder may go all the same.
    if ((code === 'EACCES' || code === 'EPERM') && (await lstat(place)).isDirectory()) return false;
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
