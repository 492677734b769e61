import type { SessionRest } from '../../contract/sessions.schemas.js';
import type { SessionRow } from './session-row.js';

/** What says whether a session rests. */
export type Resting = Pick<
  SessionRow,
  'state' | 'state_at' | 'reason' | 'origin' | 'runner_id' | 'live' | 'not_before' | 'quarantined_until' | 'circuit_until' | 'failure'
>;

/** So long a session that could not be started is left alone. */
export const FAILED_KEPT_MS = 300_000;
/** Between two members of a pool whose starts are tried while others of it have failed: this, doubled with each of those. */
const PROBE_MS = 15_000;

/** Only a person, or other files, can help these. */
export const ENDS_BY_HAND: readonly string[] = ['auth-required', 'provider-terminal-error'];

/** Whether no time ends the rest of a session that sleeps for this. */
export function endsOnlyByHand(reason: string | null): boolean {
  return ENDS_BY_HAND.includes(reason ?? '');
}

/** Why a session is not started although it may be wanted, until when, and what ends that; undefined for one that does not rest. */
export function restOf(row: Resting, now: Date): SessionRest | undefined {
  if (row.live || row.runner_id !== null) return undefined;
  const because = row.failure === null ? {} : { detail: row.failure };
  switch (row.state) {
    case 'failed-create':
      if (row.reason === 'auth-required' && row.origin !== 'pool')
        return { reason: 'auth-required', ended_by: ['configuration', 'wake'], ...because };
      return {
        reason: row.reason ?? 'failed-create',
        ended_by: [row.origin === 'pool' ? 'time' : 'demand', 'configuration', 'wake'],
        until: new Date(row.state_at.getTime() + FAILED_KEPT_MS).toISOString(),
        ...because,
      };
    case 'quarantined': {
      const open = row.circuit_until !== null && row.circuit_until > now;
      return {
        reason: open ? 'circuit-open' : (row.reason ?? 'quarantine'),
        ended_by: ['time', 'configuration', open ? 'reset' : 'wake'],
        ...(row.quarantined_until === null ? {} : { until: row.quarantined_until.toISOString() }),
        ...because,
      };
    }
    case 'start-pending':
    case 'asleep':
      if (endsOnlyByHand(row.reason)) return { reason: row.reason!, ended_by: ['configuration', 'wake'], ...because };
      if (row.not_before === null || row.not_before <= now) return undefined;
      return {
        reason: row.reason ?? 'crashed',
        ended_by: ['time', 'configuration', 'wake'],
        until: row.not_before.toISOString(),
        ...because,
      };
    default:
      return undefined;
  }
}

/** A session of a pool, as far as its pool rests for it. Times are milliseconds. */
export interface Seat {
  /** When it could not be started; undefined for one that has not failed. */
  readonly failedAt: number | undefined;
  /** When its process answered; undefined for one that has none. */
  readonly readyAt: number | undefined;
}

/**
 * While members of a pool have failed, the next one is tried after a pause only, and alone: what is wrong with one of them
 * is wrong with all, as a rule. One that has come up since shows that it is not. Undefined: the pool does not rest.
 */
export function poolRestsUntil(seats: readonly Seat[]): number | undefined {
  const failed = seats.flatMap(({ failedAt }) => failedAt ?? []);
  if (failed.length === 0) return undefined;
  const last = Math.max(...failed);
  if (seats.some(({ readyAt }) => readyAt !== undefined && readyAt > last)) return undefined;
  return last + Math.min(FAILED_KEPT_MS, PROBE_MS * 2 ** Math.min(failed.length - 1, 10));
}
