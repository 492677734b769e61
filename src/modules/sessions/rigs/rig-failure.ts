import { ProblemError } from '../../../contract/problems.js';
import { GitFailure } from '../../../platform/git/git-failure.js';
import { OutgoingRefused } from '../../../platform/outgoing/outgoing-guard.js';
import { PlaceTaken } from './rig-cloning.js';

export type RigFailureCode = 'blocked_host' | 'already_exists' | 'clone_failed' | 'invalid_request' | 'provision_failed';

/** Why a clone ends, in the words of its terminal event. */
export class RigFailure extends Error {
  override readonly name = 'RigFailure';
  constructor(
    readonly code: RigFailureCode,
    message: string,
  ) {
    super(message);
  }
}

/** The failure that an error stands for; undefined for one that may be over when it is tried again. */
export function failureOf(error: unknown): RigFailure | undefined {
  if (error instanceof RigFailure) return error;
  if (error instanceof OutgoingRefused)
    return new RigFailure(error.reason === 'forbidden' ? 'blocked_host' : 'clone_failed', error.message);
  if (error instanceof GitFailure) return new RigFailure('clone_failed', error.message);
  if (error instanceof PlaceTaken) return new RigFailure('already_exists', error.message);
  if (!(error instanceof ProblemError) || error.kind.status >= 500) return undefined;
  // A conflict with somebody's editor is over the next time; one with a rig of that name is not.
  if (error.problem === 'conflict') return error.errors === undefined ? undefined : new RigFailure('already_exists', error.detail);
  return new RigFailure(error.problem === 'invalid_request' ? 'invalid_request' : 'provision_failed', error.detail);
}
