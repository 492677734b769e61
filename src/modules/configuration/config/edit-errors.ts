import { problem } from '../../../contract/problems.js';
import { errnoOf } from '../../files/composition/trees/paths.js';

const DISK_ERRORS = new Set(['EACCES', 'EPERM', 'EROFS', 'ENOSPC', 'EDQUOT', 'EIO', 'ESTALE', 'ENOTDIR', 'EISDIR', 'EEXIST', 'ELOOP']);

/** Somebody else has ended the edit: it is certain that nothing of it was committed. */
export class HoldLost extends Error {}

/** The edit stands. */
export class AnswerLost extends Error {}

/** What was written cannot be taken back while it is not there; whoever comes next does. */
export class FilesAway extends Error {}

/** Whether the disk has refused something, or is away: trying again soon helps nobody. */
export function isOfDisk(error: unknown): boolean {
  return error instanceof FilesAway || DISK_ERRORS.has(errnoOf(error) ?? '');
}

/** The same error, unless it is one of the disk: those are nobody's fault. */
export function ofDisk(error: unknown): unknown {
  return isOfDisk(error) ? problem('dependency_missing', `the city's files cannot be written: ${errnoOf(error)}`, { cause: error }) : error;
}

/** The answer to an edit of a file that somebody else has saved since; each of the two is a SHA-256, or what was there instead of a file. */
export function editedMeanwhile(path: string, expected: string, found: string, options?: { cause: unknown }): Error {
  return problem('conflict', `${path} was edited meanwhile: expected sha256 ${expected}, found ${found}; nothing was changed`, options);
}

/** The answer to an edit that has lost its time, or its hold. */
export function tooSlow(): Error {
  return problem('unavailable', 'the change took too long; nothing was changed, try again');
}
