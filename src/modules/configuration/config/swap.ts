import {
  closeSync,
  constants,
  existsSync,
  fchmodSync,
  fstatSync,
  linkSync,
  openSync,
  readSync,
  renameSync,
  rmSync,
  statSync,
} from 'node:fs';
import { errnoOf } from '../../files/composition/trees/paths.js';
import { hashOf } from './edit-plan.js';

/** What `swap` says of a target that is not there. */
export const NO_FILE = 'no file';
/** Opening a pipe would wait for its other end, and the whole process with it. A link may lead to a file of another city. */
const OPEN = constants.O_RDONLY | constants.O_NONBLOCK | constants.O_NOFOLLOW;
const NOT_A_FILE = 'a device, pipe or socket';
/** Agents write to these files as well; an edit reads up to 1 MiB, and writes little more. */
const MAX_BYTES = 8 * 1024 * 1024;
const TOO_LARGE = 'a file that is larger than any edit makes it';
/** File systems that know no second name for a file say one of these. */
const NO_LINKS = new Set(['EPERM', 'ENOTSUP', 'EOPNOTSUPP', 'ENOSYS', 'EMLINK']);

/**
 * Puts `next` in the place of `target`, or only takes `target` away when there is no `next`, provided that it holds what
 * `expected` is the SHA-256 of. It is moved to `aside` and looked at there: a rename over it could not tell that somebody has
 * put another file there just before. Meanwhile there is no file of the name; that lasts a few system calls, which are
 * synchronous for that reason.
 *
 * @returns undefined when it was done, with what was there in `aside`; else what there is now, a hash or `NO_FILE`.
 */
export function swap(target: string, next: string | undefined, expected: string, aside: string): string | undefined {
  try {
    if (next !== undefined) setMode(next, statSync(target).mode & 0o7777);
    renameSync(target, aside);
  } catch (error) {
    if (errnoOf(error) === 'ENOENT') return NO_FILE;
    throw error;
  }
  try {
    if (hashAt(aside) !== expected) place(aside, target);
    else if (next === undefined || place(next, target)) return undefined;
  } catch (error) {
    putBack(aside, target);
    throw error;
  }
  // Where they have saved once more in the meantime, that is what counts.
  forget(aside);
  return hashAt(target);
}

/** Where there is no room for a second name, a file that somebody makes in the moment between is the smaller loss. @throws while `aside` is its last name */
function putBack(aside: string, target: string): void {
  try {
    place(aside, target);
    forget(aside);
  } catch {
    if (!existsSync(target)) renameSync(aside, target);
  }
}

/** @throws ELOOP when it is a link by now */
function setMode(at: string, mode: number): void {
  const file = openSync(at, OPEN);
  try {
    fchmodSync(file, mode);
  } finally {
    closeSync(file);
  }
}

/** Gives a file a further name unless there is something of that name; where files have one name only, another one. */
export function place(from: string, to: string): boolean {
  try {
    linkSync(from, to);
    return true;
  } catch (error) {
    const code = errnoOf(error) ?? '';
    if (code === 'EEXIST') return false;
    if (!NO_LINKS.has(code)) throw error;
    if (existsSync(to)) return false;
    renameSync(from, to);
    return true;
  }
}

/** The SHA-256 of a file as it is now, or `NO_FILE`, as for a link; of anything else, and of what no edit has made or read, what it is. */
export function hashAt(at: string): string {
  let file: number;
  try {
    file = openSync(at, OPEN);
  } catch (error) {
    const code = errnoOf(error);
    if (code === 'ENOENT' || code === 'ENOTDIR' || code === 'ELOOP') return NO_FILE;
    if (code === 'ENXIO') return NOT_A_FILE;
    throw error;
  }
  try {
    const found = fstatSync(file);
    if (found.isDirectory()) return 'a directory';
    if (!found.isFile()) return NOT_A_FILE;
    const bytes = found.size > MAX_BYTES ? undefined : wholeOf(file, found.size);
    return bytes === undefined ? TOO_LARGE : hashOf(bytes);
  } finally {
    closeSync(file);
  }
}

/** Undefined when it has grown meanwhile, beyond all bounds perhaps: everybody waits while it is read. */
function wholeOf(file: number, bytes: number): Buffer | undefined {
  const buffer = Buffer.allocUnsafe(bytes + 1);
  let total = 0;
  for (let read = -1; read !== 0 && total <= bytes; total += read) read = readSync(file, buffer, total, buffer.length - total, null);
  return total > bytes ? undefined : buffer.subarray(0, total);
}

/** Takes a name away. */
export function forget(at: string): void {
  rmSync(at, { force: true });
}
