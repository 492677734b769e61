import { doubled } from '../../../platform/time/doubled.js';
import type { SessionRest, SessionStart } from '../../../contract/sessions.schemas.js';
import type { SessionRow } from './session-row.js';

/** What says whether a session rests. */
export type Resting = Pick<
  SessionRow,
  | 'state'
  | 'state_at'
  | 'reason'
  | 'origin'
  | 'runner_id'
  | 'live'
  | 'wake_request'
  | 'not_before'
  | 'quarantined_until'
  | 'circuit_until'
  | 'failed_starts'
  | 'churns'
  | 'failure'
  | 'start_deadline'
> & {
  /** The bead that it works on. */
  readonly active_bead: string | null;
};

/** So long a session that could not be started is left alone. */
export const FAILED_KEPT_MS = 300_000;
/** Between two members of a pool whose starts are tried while others of it have failed: this, doubled with each of those. */
const PROBE_MS = 15_000;

/** Starts that fail in a row before the session has failed. */
export const MAX_FAILED_STARTS = 5;
/** After a session was woken for nothing: this, doubled with each time in a row, up to the other. */
export const CHURN_MS = 30_000;
export const MAX_CHURN_MS = 1_800_000;
/** A process that has run for so long has been good for something. */
export const PRODUCTIVE_MS = 300_000;

/** Ends that somebody else has caused: they say nothing about whether waking it again is of any use. */
export const CAUSED: readonly string[] = [
  'city-stop',
  'suspended',
  'config-drift',
  'handover',
  'runner-lost',
  'reset',
  'max-session-age',
  'killed',
  'stalled',
];

export function endedByItself(reason: string | null): boolean {
  return !CAUSED.includes(reason ?? '');
}

/** How long a session that was woken for nothing so often in a row is left alone. */
export function churnMs(churns: number): number {
  return churns <= 0 ? 0 : doubled(churns, CHURN_MS, MAX_CHURN_MS);
}

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
      return afterPause(row, now);
    default:
      return undefined;
  }
}

/** How the start of one goes that is being started; while it is, its failure is what is known of that. */
export function startOf({ state, runner_id: runner, start_deadline: until, failure }: Resting): SessionStart | undefined {
  if (state !== 'creating' || runner === null || until === null) return undefined;
  return { until: until.toISOString(), ...(failure === null ? {} : { detail: failure }) };
}

/** Of one that is started again by itself after a while: one that went wrong, or that ended and still has its work. */
function afterPause(row: Resting, now: Date): SessionRest | undefined {
  const { reason, failure, failed_starts: attempt, active_bead: bead } = row;
  const wait = row.not_before ?? now;
  const churned = row.state === 'asleep' && row.wake_request === null && bead !== null && endedByItself(reason) && row.churns > 0;
  const pause = churned ? new Date(row.state_at.getTime() + churnMs(row.churns)) : now;
  const until = wait > pause ? wait : pause;
  if (until <= now) return undefined;
  const gone = churned ? `it ended and has not closed ${bead}, time ${row.churns + 1} in a row` : undefined;
  const detail = failure ?? gone;
  return {
    reason: reason ?? 'crashed',
    ended_by: churned ? ['time', 'message', 'configuration', 'wake'] : ['time', 'configuration', 'wake'],
    until: until.toISOString(),
    ...(attempt === 0 || wait <= now ? {} : { attempt, attempts: MAX_FAILED_STARTS }),
    ...(detail === undefined ? {} : { detail }),
  };
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
  return last + doubled(failed.length, PROBE_MS, FAILED_KEPT_MS);
}
