import type { Exit, StartFailure } from '../../../platform/runtime/port.js';
import { doubled } from '../../../platform/time/doubled.js';
import { MAX_FAILED_STARTS } from '../../sessions/session-store/session-rest.js';
import type { SessionPatch, SessionRow } from '../../sessions/session-store/session-row.js';
import { CLOSE_CODES, isAsked, type CloseCode, type SleepReason, type WakeRequest } from '../../sessions/session-store/session-states.js';
import { share } from '../../sessions/session-store/settings.js';

/** What becomes of a session whose process is confirmed dead. Pure: the transaction that applies it reads the facts under the row's lock. */
export type Decision =
  | { readonly to: 'asleep'; readonly reason: string; readonly set: SessionPatch }
  | { readonly to: 'quarantined'; readonly reason: SleepReason; readonly set: SessionPatch; readonly message?: string }
  | { readonly to: 'failed-create'; readonly reason: SleepReason; readonly set: SessionPatch }
  | { readonly to: 'suspended'; readonly set: SessionPatch }
  | { readonly to: 'closed'; readonly code: CloseCode }
  /** It is where it belongs already: only its process is taken away. */
  | { readonly to: 'same'; readonly set: SessionPatch };

export interface ExitFacts {
  /** Messages wait in its queue. */
  readonly queued: boolean;
  /** A turn was going on. */
  readonly inTurn: boolean;
  /** It has finished a turn under this process. */
  readonly productive: boolean;
  /** By the database's clock. */
  readonly now: Date;
}

export interface ExitSettings {
  /** Crashes within the window that quarantine a session. */
  readonly maxCrashes: number;
  readonly crashWindowMs: number;
  readonly quarantineMs: number;
  readonly rateLimitMs: number;
  /** Starts that fail in a row before the session has failed. */
  readonly maxFailedStarts: number;
  /** Until a start is tried again that failed for the state of the host, or of the database, which counts as none: twice as long each time in a row. */
  readonly busyMs: number;
  readonly maxBusyMs: number;
}

export const EXIT_SETTINGS: ExitSettings = {
  maxCrashes: 5,
  crashWindowMs: 3_600_000,
  quarantineMs: 300_000,
  rateLimitMs: 1_800_000,
  maxFailedStarts: MAX_FAILED_STARTS,
  busyMs: 5_000,
  maxBusyMs: 60_000,
};

/**
 * Workers are lost for many reasons, and all their sessions with them: two losses cost none of them a moment. After more of them one only waits: its
 * messages are accepted, it keeps its work, and nobody has to help it. It may take down some six workers an hour then, a pool so many for each of its places.
 */
const LOSSES = {
  windowMs: 3_600_000,
  /** After the first, second, third … within the window: this, or up to twice as long. */
  pausesMs: [0, 0, 15_000, 60_000, 300_000, 600_000] as readonly number[],
};

const BACKOFF_MS = 1_000;
const MAX_BACKOFF_MS = 60_000;

/** 1 s, 2 s, 4 s … up to a minute, for the first, second, third … failure in a row. */
export function backoffMs(failures: number): number {
  return doubled(failures, BACKOFF_MS, MAX_BACKOFF_MS);
}

/** After a process that had been ready has ended, by itself or on request. */
export function afterExit(row: SessionRow, exit: Pick<Exit, 'cause'>, facts: ExitFacts, settings = EXIT_SETTINGS): Decision {
  if (row.stop_request !== null) return asWished(row, facts);
  if (row.state === 'suspended') return { to: 'same', set: {} };
  switch (exit.cause) {
    case 'rate_limited':
      return asleep(row, facts, 'rate_limit', { wake: worked(facts) ? 'restart' : undefined, inMs: settings.rateLimitMs });
    case 'auth_required':
      return { to: 'asleep', reason: 'auth-required', set: {} };
    case 'clean':
      return clean(row, facts, settings);
    case 'crashed':
      return crashed(row, facts, settings);
    case 'stopped':
      // Nobody wishes it to be stopped any more: whoever took the wish back wants it to run.
      return asleep(row, facts, 'exited', { wake: row.state === 'draining' ? undefined : 'restart' });
  }
}

/** After a start that has failed; nothing of the process is left. */
export function afterFailedStart(
  row: SessionRow,
  failure: Exclude<StartFailure, 'unconfirmed_dead'> | 'busy',
  facts: ExitFacts,
  settings = EXIT_SETTINGS,
  /** How long the start before it was put off. */
  putOffMs = 0,
): Decision {
  if (row.stop_request !== null) return asWished(row, facts);
  if (row.state !== 'creating') return { to: 'same', set: {} };
  const failed_starts = row.failed_starts + 1;
  switch (failure) {
    case 'aborted':
      return asleep(row, facts, 'handover', { wake: 'create' });
    case 'busy':
      return asleep(row, facts, 'handover', {
        wake: 'handover',
        inMs: Math.min(Math.max(settings.busyMs, 2 * putOffMs), settings.maxBusyMs),
      });
    case 'auth_required':
      return { to: 'failed-create', reason: 'auth-required', set: { failed_starts } };
    case 'not_found':
    case 'unsupported':
      return { to: 'failed-create', reason: 'failed-create', set: { failed_starts } };
    case 'died':
    case 'timeout':
    case 'protocol':
    case 'resume_rejected':
      if (failed_starts >= settings.maxFailedStarts) return { to: 'failed-create', reason: 'failed-create', set: { failed_starts } };
      return asleep(row, facts, 'crashed', {
        wake: 'create',
        inMs: backoffMs(failed_starts),
        set: { failed_starts },
      });
  }
}

/**
 * After its runner is gone for good; what it ran is dead or is ended before the next start. What a session does may be what its runner was lost
 * for: one that has lost several in a row, and finished no turn between them, takes the next one down less and less often. One that did nothing at
 * that moment is not what it was lost for.
 */
export function afterLoss(row: SessionRow, facts: Pick<ExitFacts, 'queued' | 'inTurn' | 'now'>): Decision {
  const decision = givenBack(row, facts);
  const { now } = facts;
  if (row.stop_request !== null || decision.to !== 'asleep' || row.state === 'draining') return decision;
  if (row.state === 'active' && !facts.inTurn) return decision;
  const losses = [...(row.losses ?? []).filter((at) => at.getTime() > now.getTime() - LOSSES.windowMs), now];
  const pause = LOSSES.pausesMs[losses.length - 1] ?? LOSSES.pausesMs.at(-1)!;
  if (pause === 0) return { ...decision, set: { ...decision.set, losses } };
  const failure = `its worker was lost ${losses.length} times in a row, and it finished no turn between them`;
  // Each has a pause of its own: those that were lost with the one that does it come back without it, and finish a turn.
  const not_before = new Date(now.getTime() + pause * (1 + share(`${row.id}.${row.generation}`)));
  return { ...decision, set: { ...decision.set, losses, failure, not_before } };
}

/** After its runner has taken it and knows nothing of it: nothing has run. */
export function givenBack(row: SessionRow, facts: Pick<ExitFacts, 'queued' | 'now'>): Decision {
  if (row.stop_request !== null) return asWished(row, facts);
  switch (row.state) {
    case 'creating':
    case 'active':
      return asleep(row, facts, 'runner-lost', { wake: goesOn(row, 'failover') });
    case 'draining':
      return asleep(row, facts, 'runner-lost', {});
    default:
      return { to: 'same', set: {} };
  }
}

/** What was asked for, once the process is dead. A later and stronger wish has replaced an older one by then. */
function asWished(row: SessionRow, facts: Pick<ExitFacts, 'queued' | 'now'>): Decision {
  const reason = row.stop_reason;
  switch (row.stop_request) {
    case 'close':
      return { to: 'closed', code: closeCode(reason) };
    case 'suspend':
      return row.state === 'active'
        ? { to: 'suspended', set: {} }
        : row.state === 'suspended'
          ? { to: 'same', set: {} }
          : plain(reason ?? 'user-hold');
    case 'reset':
      return ifStarted(row, { to: 'asleep', reason: reason ?? 'reset', set: { reset_pending: true, ...wakes('reset', facts.now) } });
    case 'handover':
      return ifStarted(row, asleep(row, facts, reason ?? 'handover', { wake: goesOn(row, 'handover') }));
    case 'kill':
      return ifStarted(row, asleep(row, facts, reason ?? 'killed', {}));
    case 'drain':
      return ifStarted(row, asleep(row, facts, reason ?? 'drained', {}));
    case 'sleep':
    case null:
      return ifStarted(row, asleep(row, facts, reason ?? 'idle', {}));
  }
}

function plain(reason: string): Decision {
  return { to: 'asleep', reason, set: {} };
}

/** A wish to sleep of a session that is suspended, say, by now only takes its process away. */
function ifStarted(row: SessionRow, decision: Decision): Decision {
  return row.state === 'creating' || row.state === 'active' || row.state === 'draining' ? decision : { to: 'same', set: {} };
}

function closeCode(reason: string | null): CloseCode {
  return CLOSE_CODES.find((code) => code === reason) ?? 'operator';
}

function worked({ queued, inTurn }: ExitFacts): boolean {
  return queued || inTurn;
}

interface Sleeping {
  readonly wake?: WakeRequest | undefined;
  /** No start sooner. */
  readonly inMs?: number | undefined;
  readonly set?: SessionPatch;
}

/** Asleep, and awake again for somebody who has asked for that, for a reason of its own, for another wish that came meanwhile, or for what waits in its queue. */
function asleep(row: SessionRow, facts: Pick<ExitFacts, 'queued' | 'now'>, reason: string, { wake, inMs, set = {} }: Sleeping): Decision {
  const why = wished(row, wake) ?? row.wake_request ?? (facts.queued ? 'message' : undefined);
  return {
    to: 'asleep',
    reason,
    set: {
      ...set,
      ...(why === undefined ? {} : wakes(why, facts.now)),
      ...(inMs === undefined ? {} : { not_before: new Date(facts.now.getTime() + inMs) }),
    },
  };
}

/** As what it is wanted again: of a start that has come to nothing that is said, for what it was for is still to be done. */
function goesOn({ state }: SessionRow, why: WakeRequest): WakeRequest {
  return state === 'creating' ? 'create' : why;
}

/** What somebody has asked for outlives why it is started again: the next one of its name may be what is started. */
function wished({ wake_request: asked }: SessionRow, wake: WakeRequest | undefined): WakeRequest | undefined {
  return isAsked(asked) ? asked : wake;
}

function wakes(wake_request: WakeRequest, wake_requested_at: Date): SessionPatch {
  return { wake_request, wake_requested_at };
}

/** One that ends by itself without having done a thing is not started again at once, however much waits for it. */
function clean(row: SessionRow, facts: ExitFacts, settings: ExitSettings): Decision {
  if (facts.productive || !worked(facts)) return asleep(row, facts, 'exited', {});
  const failed_starts = row.failed_starts + 1;
  if (failed_starts >= settings.maxFailedStarts) return { to: 'asleep', reason: 'provider-terminal-error', set: { failed_starts } };
  return asleep(row, facts, 'exited', { inMs: backoffMs(failed_starts), set: { failed_starts } });
}

function crashed(row: SessionRow, facts: ExitFacts, settings: ExitSettings): Decision {
  const since = facts.now.getTime() - settings.crashWindowMs;
  const crashes = [...row.crashes.filter((at) => at.getTime() > since), facts.now];
  const wake = row.state === 'active' && (worked(facts) || row.wake_request !== null) ? 'restart' : undefined;
  if (crashes.length >= settings.maxCrashes) {
    const quarantined_until = new Date(facts.now.getTime() + settings.quarantineMs);
    const why = wished(row, wake);
    const again = why === undefined ? {} : wakes(why, facts.now);
    return { to: 'quarantined', reason: 'quarantine', set: { crashes, quarantined_until, ...again } };
  }
  return asleep(row, facts, 'crashed', { wake, inMs: backoffMs(crashes.length), set: { crashes } });
}
