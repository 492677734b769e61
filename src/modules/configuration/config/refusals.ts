import { problem, type ProblemField } from '../../../contract/problems.js';
import type { TooDear } from '../../../platform/threads/thread.js';
import { describeIssue, type Issue } from '../../files/composition/issue.js';

const FIELDS = 50;
const IN_DETAIL = 3;
const USERS = 10;

/** What is wrong with files, one field each: `location` is `<file>:<line>:<key>`. */
export function fieldsOf(errors: readonly Issue[]): ProblemField[] {
  return errors.slice(0, FIELDS).map(({ file, line, key, message, accepted }) => ({
    location: [file, line, key].filter((part) => part !== undefined && part !== '').join(':'),
    message: accepted === undefined || accepted.length === 0 ? message : `${message} (accepted: ${accepted.join(', ')})`,
  }));
}

/** A few errors in one line. */
export function summaryOf(errors: readonly Issue[]): string {
  const more = errors.length > IN_DETAIL ? `; and ${errors.length - IN_DETAIL} more` : '';
  return errors.slice(0, IN_DETAIL).map(describeIssue).join('; ') + more;
}

/** The answer to an edit that leaves files which cannot be used: its own fault, or that of how they were before. */
export function refusalOf(after: readonly Issue[], before: readonly Issue[]): Error {
  const known = new Set(before.map(sameAs));
  const own = after.filter((issue) => !known.has(sameAs(issue)));
  if (own.length === 0) {
    return problem('wrong_state', `the city's files cannot be used as they are: ${summaryOf(after)}`, { errors: fieldsOf(after) });
  }
  return problem('validation_failed', `the result could not be used: ${summaryOf(own)}`, { errors: fieldsOf(own) });
}

/** Equal for an error before and after an edit: lines move. */
function sameAs({ line: _, ...issue }: Issue): string {
  return describeIssue(issue);
}

/** The answer to a removal of what others in the configuration are made with. */
export function inUse(what: string, users: readonly string[]): Error {
  const more = users.length > USERS ? ` and ${users.length - USERS} more` : '';
  return problem('conflict', `${what} is used by ${users.slice(0, USERS).join(', ')}${more}`);
}

/** The answer to what was ended because of what it took. */
export function tooDear(file: string, cause: TooDear): Error {
  const message = `what is to be done with it ${cause.message}`;
  return problem('validation_failed', `${file}: ${message}`, { errors: [{ location: file, message }], cause });
}
