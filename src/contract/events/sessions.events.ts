import { z } from 'zod';
import { contract } from '../registry.js';
import { int64 } from '../scalars.js';
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
