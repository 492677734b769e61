import { constants } from 'node:os';
import { isHostShort } from '../runtime/shortages.js';

/** The host has no process, memory or time left just now: that says nothing of what it allows. */
export class OfAMoment extends Error {}

/** As the system says it, and as `dash` says it of a process that it cannot make. */
const PASSING = /(Resource temporarily unavailable|Cannot allocate memory|Too many open files( in system)?|Cannot fork)$/;

/** Whether a program that has failed says that the host is out of something. */
export function isPassing(said: string): boolean {
  return PASSING.test(said);
}

/** Whether somebody has ended it at once. A shell tells by its status that its last program was. */
export function wasKilled(error: unknown): boolean {
  const { signal, code } = error as { signal?: string | null; code?: number | string | null };
  return signal === 'SIGKILL' || code === 128 + constants.signals.SIGKILL;
}

/**
 * What a probe that has failed says of this host, by its last line.
 *
 * @param error of `execFile`
 * @param what was probed, for people
 * @param ms that it had
 */
export function failedProbe(error: unknown, what: string, ms: number): Error {
  const { stderr = '', code, killed } = error as Error & { stderr?: string; code?: unknown; killed?: boolean };
  const late = killed === true ? `${what} has not ended in ${ms / 1000} s` : undefined;
  const last = stderr.trim().split('\n').at(-1)!;
  const said = last || late || (wasKilled(error) ? `${what} was killed` : `${what} ends with ${String(code)}`);
  const passes = isPassing(said) || isHostShort(error) || late !== undefined || wasKilled(error);
  return new (passes ? OfAMoment : Error)(said, { cause: error });
}
