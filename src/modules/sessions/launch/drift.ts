import type { SessionRow } from '../session-store/session-row.js';
import type { StopRequest } from '../session-store/session-states.js';
import type { Parts } from './launch.js';

/** What decides whether a session's process runs with an older configuration. */
export type Started = Pick<SessionRow, 'kind' | 'template' | 'options' | 'live' | 'launch_hash' | 'launch_options' | 'accepted_hash'>;

export interface Drift {
  /** What a process would be started with now. */
  readonly now: string;
  /** A person lets the process go on all the same. */
  readonly accepted: boolean;
}

/** The reason of a stop that is a restart with the configuration of now. */
export const DRIFT_REASON = 'config-drift';

/** What comes of a drift, with the words that clients see. */
export const DRIFT_STEPS = [
  'restart_now',
  'restart_after_turn',
  'restart_after_answer',
  'restart_after_resume',
  'restarting',
  'stopping',
  'accepted',
  'kept',
] as const;
export type DriftStep = (typeof DRIFT_STEPS)[number];

export interface DriftFacts {
  readonly accepted: boolean;
  readonly stop: StopRequest | null;
  readonly stopReason: string | null;
  /** Nothing is configured any more that it is the session of. */
  readonly orphaned: boolean;
  /** Its agent, rig or city is suspended. */
  readonly blocked: boolean;
  readonly inTurn: boolean;
  /** It asks a person something. */
  readonly asks: boolean;
  /** `[daemon] auto_restart_on_drift` */
  readonly restarts: boolean;
}

/**
 * Undefined for a session that runs with what the configuration says. Only what is known to be different counts: a start that
 * has noted nothing is not started again for it, nor is one for options that its live agent has taken since.
 */
export function driftOf(row: Started, fingerprint: (asked: Started) => string | undefined): Drift | undefined {
  if (row.launch_hash === null || !row.live) return undefined;
  const now = fingerprint(row.launch_options === null ? row : { ...row, options: row.launch_options });
  if (now === undefined || now === row.launch_hash) return undefined;
  return { now, accepted: now === row.accepted_hash };
}

/** The one place that says what happens to a session that has drifted: `restart_now` is carried out at the next look at it. */
export function driftStep({ accepted, stop, stopReason, orphaned, blocked, inTurn, asks, restarts }: DriftFacts): DriftStep {
  if (stop !== null) return stop === 'drain' && stopReason === DRIFT_REASON ? 'restarting' : 'stopping';
  if (orphaned) return 'stopping';
  if (blocked) return 'restart_after_resume';
  if (accepted) return 'accepted';
  if (!restarts) return 'kept';
  if (asks) return 'restart_after_answer';
  return inTurn ? 'restart_after_turn' : 'restart_now';
}

/**
 * The names of the parts that differ; empty for a process of which no parts are known. Presets are no part for whoever reads that: another one
 * is another provider or command, and earlier processes have not noted theirs.
 */
export function differences(was: Parts | null, now: Parts): string[] {
  if (was === null) return [];
  return [...new Set([...Object.keys(was), ...Object.keys(now)])].filter((name) => name !== 'preset' && was[name] !== now[name]).sort();
}
