/** Where a session stands. Every one of them accepts `close`; nothing leaves `closed`. */
export const SESSION_STATES = [
  'start-pending',
  'creating',
  'active',
  'asleep',
  'suspended',
  'draining',
  'archived',
  'quarantined',
  'failed-create',
  'closed',
] as const;
export type SessionState = (typeof SESSION_STATES)[number];

/** What moves a session from state to state. */
export const SESSION_COMMANDS = [
  'start',
  'ready',
  'fail_start',
  'sleep',
  'suspend',
  'wake',
  'quarantine',
  'drain',
  'undrain',
  'archive',
  'close',
] as const;
export type SessionCommand = (typeof SESSION_COMMANDS)[number];

interface Move {
  readonly from: readonly SessionState[];
  readonly to: SessionState;
}

const EVERY_OPEN = SESSION_STATES.filter((state) => state !== 'closed');

/**
 * The whole state table. `start` is the commit before a process is started, `ready` the confirmation that it answers;
 * `sleep` is how a process ends without the session ending; `wake` only makes a session startable again.
 */
export const MOVES: Readonly<Record<SessionCommand, Move>> = {
  start: { from: ['start-pending', 'asleep'], to: 'creating' },
  ready: { from: ['creating'], to: 'active' },
  fail_start: { from: ['start-pending', 'creating'], to: 'failed-create' },
  sleep: { from: ['creating', 'active', 'draining'], to: 'asleep' },
  suspend: { from: ['active', 'asleep', 'quarantined', 'failed-create'], to: 'suspended' },
  wake: { from: ['suspended', 'quarantined', 'archived', 'failed-create'], to: 'asleep' },
  quarantine: { from: ['creating', 'active', 'asleep', 'draining'], to: 'quarantined' },
  drain: { from: ['active'], to: 'draining' },
  undrain: { from: ['draining'], to: 'active' },
  archive: { from: ['active', 'asleep', 'suspended', 'quarantined', 'draining'], to: 'archived' },
  close: { from: EVERY_OPEN, to: 'closed' },
};

/** The state a command leads to, or undefined where it is refused. */
export function moveOf(state: SessionState, command: SessionCommand): SessionState | undefined {
  const move = MOVES[command];
  return move.from.includes(state) ? move.to : undefined;
}

/** Why a session is asked to be awake. `create`: for its first start, or because the last one has come to nothing. */
const WAKE_REQUESTS = [
  'create',
  'explicit',
  'message',
  'work',
  'named',
  'minimum',
  'dependency',
  'wait',
  'pinned',
  'reset',
  'restart',
  'failover',
  'handover',
  'drift',
] as const;
export type WakeRequest = (typeof WAKE_REQUESTS)[number];

/** People and programs ask for a session to run so; what else wakes one is decided anew for the next one of its name. */
export function isAsked(wish: WakeRequest | null): wish is 'explicit' | 'reset' {
  return wish === 'explicit' || wish === 'reset';
}

/** What a runner is asked to do with a session's process. */
export const STOP_REQUESTS = ['sleep', 'suspend', 'drain', 'kill', 'reset', 'close', 'handover'] as const;
export type StopRequest = (typeof STOP_REQUESTS)[number];

/** Why a session is not simply active, as its answer says. */
export const SLEEP_REASONS = [
  'idle',
  'idle-timeout',
  'no-wake-reason',
  'config-drift',
  'drained',
  'city-stop',
  'user-hold',
  'wait-hold',
  'rate_limit',
  'failed-create',
  'provider-terminal-error',
  'runtime-missing',
  'quarantine',
  'circuit-open',
  'context-churn',
  'max-session-age',
  'assigned-work-exhausted',
  'killed',
  'crashed',
  'exited',
  'handover',
  'runner-lost',
  'reset',
  'auth-required',
  'unconfirmed-dead',
] as const;
export type SleepReason = (typeof SLEEP_REASONS)[number];

export const CLOSE_CODES = [
  'operator',
  'orphaned',
  'drained',
  'failed-create',
  'stale-session',
  'duplicate',
  'reconfigured',
  'suspended',
  'city-gone',
] as const;
export type CloseCode = (typeof CLOSE_CODES)[number];
