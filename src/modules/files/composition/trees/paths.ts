import path from 'node:path';
import { TreeFailure } from './file-tree.js';

const MAX_DEPTH = 32;
const MAX_PATH_BYTES = 4_096;
/** More than any directory needs. What the disk is asked for takes longer with each part, and of what is not there it is asked for each: 0.2 s with 2,000. */
export const MOST_PARTS = 128;

/** Strictly below: a root does not lie inside itself. */
export function isBelow(root: string, at: string): boolean {
  const relative = path.relative(root, at);
  return relative !== '' && relative !== '..' && !relative.startsWith(`..${path.sep}`) && !path.isAbsolute(relative);
}

/** Whether an absolute path has more parts than the disk is asked for. */
export function hasTooManyParts(at: string): boolean {
  return at.split(path.sep).length > MOST_PARTS;
}

/** The code of a failed system call. */
export function errnoOf(error: unknown): string | undefined {
  return error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : undefined;
}

/** Whether a system call failed because there is nothing at the path. */
export function isAbsent(error: unknown): boolean {
  return errnoOf(error) === 'ENOENT' || errnoOf(error) === 'ENOTDIR';
}

/**
 * A path of a tree without `.`, `..` and doubled slashes; '' is the tree itself.
 *
 * @throws TreeFailure when it leaves the tree as it is written, or is none that a file can have.
 */
export function relativePath(wanted: string): string {
  if (wanted.includes('\0') || !wanted.isWellFormed())
    throw new TreeFailure(shown(wanted), 'the path has characters that no path can have');
  if (wanted.startsWith('/')) throw new TreeFailure(shown(wanted), 'the path is absolute');
  const parts: string[] = [];
  for (const part of wanted.split('/')) {
    if (part === '' || part === '.') continue;
    if (part !== '..') parts.push(part);
    else if (parts.pop() === undefined) throw new TreeFailure(shown(wanted), 'the path leads outside');
  }
  if (parts.length > MAX_DEPTH) throw new TreeFailure(shown(wanted), `it lies more than ${MAX_DEPTH} directories deep`);
  const clean = parts.join('/');
  if (Buffer.byteLength(clean) > MAX_PATH_BYTES) throw new TreeFailure(shown(wanted), `the path is longer than ${MAX_PATH_BYTES} bytes`);
  return clean;
}

/** A path as a message may show it: printable and of bounded length. */
function shown(wanted: string): string {
  const printable = wanted.toWellFormed().replace(/\p{Cc}/gu, '\u{FFFD}');
  return printable.length > 200 ? `${printable.slice(0, 200)}…` : printable;
}
