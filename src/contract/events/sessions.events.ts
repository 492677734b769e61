import { z } from 'zod';
import { contract } from '../registry.js';
import { dateTime, int64 } from '../scalars.js';
import { SessionResponse } from '../sessions.schemas.js';
import { defineEvent, NoPayload } from './define.js';

export const SessionCreateSucceededPayload = contract(
  'SessionCreateSucceededPayload',
  z.strictObject({ request_id: z.string(), session: SessionResponse }),
);
export const SessionMessageSucceededPayload = contract(
  'SessionMessageSucceededPayload',
  z.strictObject({ request_id: z.string(), session_id: z.string() }),
);
export const SessionSubmitSucceededPayload = contract(
  'SessionSubmitSucceededPayload',
  z.strictObject({ intent: z.string(), queued: z.boolean(), request_id: z.string(), session_id: z.string() }),
);
export const SessionLifecyclePayload = contract(
  'SessionLifecyclePayload',
  z.strictObject({ session_id: z.string(), reason: z.string().optional(), template: z.string().optional() }),
);
export const SessionDrainAckedWithAssignedWorkPayload = contract(
  'SessionDrainAckedWithAssignedWorkPayload',
  z.strictObject({
    bead_id: z.string(),
    session_id: z.string(),
    bead_status: z.string().optional(),
    reason: z.string().optional(),
    template: z.string().optional(),
  }),
);
export const SessionStrandedPayload = contract(
  'SessionStrandedPayload',
  z.strictObject({
    session_id: z.string(),
    session_name: z.string().optional(),
    template: z.string().optional(),
    work_bead_ids: z.array(z.string()).nullable().optional(),
  }),
);
export const SessionUnknownStatePayload = contract(
  'SessionUnknownStatePayload',
  z.strictObject({
    escalated: z.boolean(),
    session_id: z.string(),
    state: z.string(),
    first_seen: z.string().optional(),
    session_name: z.string().optional(),
  }),
);
export const SessionResetStalledPayload = contract(
  'SessionResetStalledPayload',
  z.strictObject({ elapsed_s: int64, reset_committed_at: z.string(), session_name: z.string(), template: z.string() }),
);

export const SessionTransitionPayload = contract(
  'SessionTransitionPayload',
  z.strictObject({ session_id: z.string(), from: z.string(), to: z.string(), generation: int64, reason: z.string().optional() }),
  'A session went from one state to another. `generation` counts its processes.',
);
export const SessionStartFailedPayload = contract(
  'SessionStartFailedPayload',
  z.strictObject({
    session_id: z.string(),
    from: z.string(),
    to: z.string(),
    generation: int64,
    reason: z.string().optional(),
    attempt: int64.optional(),
    attempts: int64.optional(),
    retry_at: dateTime.optional(),
  }),
  'A start has failed; the message of the event says why. `attempt` counts those in a row. While it is tried again, `attempts` says how many of them ' +
    'are made, and `retry_at` when the next one is, at the soonest.',
);
export const SessionStartSlowPayload = contract(
  'SessionStartSlowPayload',
  z.strictObject({ session_id: z.string(), generation: int64, until: dateTime }),
  'A start takes long; the message of the event says what is known of it. It is given up at `until`.',
);
export const SessionInteractionPayload = contract(
  'SessionInteractionPayload',
  z.strictObject({
    session_id: z.string(),
    request_id: z.string(),
    kind: z.string(),
    status: z.string(),
    action: z.string().optional(),
    prompt: z.string().optional(),
  }),
  'A session asks a person something, or does no longer. `status` is open, answered, cancelled or expired.',
);
export const SessionMessagePayload = contract(
  'SessionMessagePayload',
  z.strictObject({ session_id: z.string(), message_id: z.string(), status: z.string(), intent: z.string(), reason: z.string().optional() }),
  'What became of a message that was queued for a session.',
);

/** Where the contract has no kind for a change of state; the others say it under the contract's names. */
export const SessionCreated = defineEvent('session.created', 1, SessionTransitionPayload);
export const SessionStarting = defineEvent('session.starting', 1, SessionTransitionPayload);
export const SessionStartFailed = defineEvent('session.start_failed', 1, SessionStartFailedPayload);
export const SessionStartSlow = defineEvent('session.start_slow', 1, SessionStartSlowPayload);
export const SessionWakeRequested = defineEvent('session.wake_requested', 1, SessionTransitionPayload);
export const SessionArchived = defineEvent('session.archived', 1, SessionTransitionPayload);
export const SessionClosed = defineEvent('session.closed', 1, SessionTransitionPayload);
export const SessionInteractionOpened = defineEvent('session.interaction.opened', 1, SessionInteractionPayload);
export const SessionInteractionResolved = defineEvent('session.interaction.resolved', 1, SessionInteractionPayload);
/** A queued message was cancelled, expired, or its delivery could not be confirmed. */
export const SessionMessageDropped = defineEvent('session.message.dropped', 1, SessionMessagePayload);

export const SessionWoke = defineEvent('session.woke', 1, NoPayload);
export const SessionDraining = defineEvent('session.draining', 1, NoPayload);
export const SessionUndrained = defineEvent('session.undrained', 1, NoPayload);
export const SessionQuarantined = defineEvent('session.quarantined', 1, NoPayload);
export const SessionIdleKilled = defineEvent('session.idle_killed', 1, NoPayload);
export const SessionMaxAgeKilled = defineEvent('session.max_age_killed', 1, NoPayload);
export const SessionSuspended = defineEvent('session.suspended', 1, NoPayload);
export const SessionUpdated = defineEvent('session.updated', 1, NoPayload);
export const SessionColdStartTimeout = defineEvent('session.cold_start_timeout', 1, NoPayload);
export const SessionStopped = defineEvent('session.stopped', 1, SessionLifecyclePayload);
export const SessionCrashed = defineEvent('session.crashed', 1, SessionLifecyclePayload);
export const SessionWorkQueryFailed = defineEvent('session.work_query_failed', 1, SessionLifecyclePayload);
export const SessionDrainAckedWithAssignedWork = defineEvent(
  'session.drain_acked_with_assigned_work',
  1,
  SessionDrainAckedWithAssignedWorkPayload,
);
export const SessionStranded = defineEvent('session.stranded', 1, SessionStrandedPayload);
export const SessionUnknownState = defineEvent('session.unknown_state', 1, SessionUnknownStatePayload);
export const SessionResetStalled = defineEvent('session.reset_stalled', 1, SessionResetStalledPayload);
export const SessionCreateSucceeded = defineEvent('request.result.session.create', 1, SessionCreateSucceededPayload);
export const SessionMessageSucceeded = defineEvent('request.result.session.message', 1, SessionMessageSucceededPayload);
export const SessionSubmitSucceeded = defineEvent('request.result.session.submit', 1, SessionSubmitSucceededPayload);
