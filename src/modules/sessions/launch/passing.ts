import { ProblemError } from '../../../contract/problems.js';
import { isRetryable } from '../../../platform/database/pg-errors.js';
import { HostBusy } from '../../../platform/runtime/port.js';
import { isHostShort, isOfAMoment } from '../../../platform/runtime/shortages.js';

/** Milliseconds until what could not begin here is given back. */
export const BUSY_MS = 1_000;

/** Whether something could not begin for the state of this host, or of the database, at that moment: another time it may. */
export function isPassing(error: unknown): boolean {
  return passes(error, isOfAMoment);
}

/** The same of the start of a session, which is put off for as long as this is so: not for a disk that is full, which somebody has to hear of. */
export function putsOff(error: unknown): boolean {
  return passes(error, isHostShort);
}

function passes(error: unknown, isOfHost: (error: unknown) => boolean): boolean {
  if (error instanceof HostBusy || isRetryable(error)) return true;
  if (!(error instanceof Error)) return false;
  if (error instanceof ProblemError && error.problem === 'unavailable') return true;
  return isOfHost(error) || passes(error.cause, isOfHost);
}
