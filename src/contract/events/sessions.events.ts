import { z } from 'zod';
import { contract } from '../registry.js';
import { dateTime, int64 } from '../scalars.js';
import { InteractionChoice } from '../interactions.schemas.js';
import { SessionResponse } from '../sessions.schemas.js';
import { defineEvent } from './define.js';

/** In every event of a session, so that who follows them has to ask for nothing. */
const told = {
  session: SessionResponse.optional().describe(
    'The session as lists have it once this has happened, without its last output; several events of one change carry the same. Absent where it ' +
      'is longer than 16 KiB, of events of earlier releases, and of those that a client has recorded.',
  ),
};
export const SessionStatePayload = contract('SessionStatePayload', z.strictObject(told), 'What the session is like then.');
export const SessionTurnPayload = contract(
  'SessionTurnPayload',
  z.strictObject({
    session_id: z.string(),
    turn: int64.describe('Counts the turns of the session.'),
    generation: int64.describe('Counts its processes.'),
    stop_reason: z
      .string()
      .optional()
      .describe('Why it is over: what the agent says, `failed`, or `lost` with its process. Absent of one that begins.'),
    ...told,
  }),
  'A turn of a session: what it does until it waits again.',
);

export const SessionCreateSucceededPayload = contract(
  'SessionCreateSucceededPayload',
  z.strictObject({ request_id: z.string(), session: SessionResponse }),
  'The session is there.',
);
export const SessionMessageSucceededPayload = contract(
  'SessionMessageSucceededPayload',
  z.strictObject({ request_id: z.string(), session_id: z.string() }),
  'The message has reached its session.',
);
export const SessionSubmitSucceededPayload = contract(
  'SessionSubmitSucceededPayload',
  z.strictObject({ intent: z.string(), queued: z.boolean(), request_id: z.string(), session_id: z.string() }),
  'The message was taken by its session, or put into its line.',
);
export const SessionLifecyclePayload = contract(
  'SessionLifecyclePayload',
  z.strictObject({ session_id: z.string(), reason: z.string().optional(), template: z.string().optional(), ...told }),
  'The session that it happened to.',
);
export const SessionDrainAckedWithAssignedWorkPayload = contract(
  'SessionDrainAckedWithAssignedWorkPayload',
  z.strictObject({
    bead_id: z.string(),
    session_id: z.string(),
    bead_status: z.string().optional().describe('The status of that bead.'),
    reason: z.string().optional(),
    template: z.string().optional(),
    ...told,
  }),
  'A session has ended while it still had work.',
);
export const SessionStrandedPayload = contract(
  'SessionStrandedPayload',
  z.strictObject({
    session_id: z.string(),
    session_name: z.string().optional(),
    template: z.string().optional(),
    work_bead_ids: z.array(z.string()).nullable().optional().describe('The beads that it has. Null is the same as none.'),
    ...told,
  }),
  'A session has work and nothing goes on.',
);
export const SessionUnknownStatePayload = contract(
  'SessionUnknownStatePayload',
  z.strictObject({
    escalated: z.boolean().describe('Whether somebody was told.'),
    session_id: z.string(),
    state: z.string(),
    first_seen: z.string().optional().describe('When it was seen first. RFC 3339 in UTC.'),
    session_name: z.string().optional(),
    ...told,
  }),
  'A session is in a state that this release does not know.',
);
export const SessionResetStalledPayload = contract(
  'SessionResetStalledPayload',
  z.strictObject({
    elapsed_s: int64.describe('For how many seconds it has not come up.'),
    reset_committed_at: z.string().describe('When it was reset. RFC 3339 in UTC.'),
    session_name: z.string(),
    template: z.string(),
    ...told,
  }),
  'A session that was reset does not come up.',
);

export const SessionTransitionPayload = contract(
  'SessionTransitionPayload',
  z.strictObject({
    session_id: z.string(),
    from: z.string().describe('The state before. Empty for a new session.'),
    to: z.string().describe('The state now.'),
    generation: int64,
    reason: z.string().optional(),
    ...told,
  }),
  'A session went from one state to another. `generation` counts its processes.',
);
export const SessionStartFailedPayload = contract(
  'SessionStartFailedPayload',
  z.strictObject({
    session_id: z.string(),
    from: z.string().describe('The state before.'),
    to: z.string().describe('The state now.'),
    generation: int64,
    reason: z.string().optional(),
    attempt: int64.optional().describe('How many starts in a row have failed.'),
    attempts: int64.optional().describe('How many are made.'),
    retry_at: dateTime.optional().describe('When it is tried again, at the soonest. RFC 3339 in UTC; absent when it is not.'),
    ...told,
  }),
  'A start has failed; the message of the event says why. `attempt` counts those in a row. While it is tried again, `attempts` says how many of them ' +
    'are made, and `retry_at` when the next one is, at the soonest.',
);
export const SessionStartSlowPayload = contract(
  'SessionStartSlowPayload',
  z.strictObject({ session_id: z.string(), generation: int64, until: dateTime.describe('When it is given up. RFC 3339 in UTC.'), ...told }),
  'A start takes long; the message of the event says what is known of it. It is given up at `until`.',
);
export const SessionInteractionPayload = contract(
  'SessionInteractionPayload',
  z.strictObject({
    session_id: z.string(),
    request_id: z.string().describe('Names the question.'),
    kind: z.string().describe('`approval`: may it do something. `dialog`: what a terminal shows and waits for.'),
    status: z.string().describe('`open`, `answered`, `cancelled` or `expired`.'),
    action: z.string().optional().describe('What was answered.'),
    prompt: z.string().optional(),
    prompt_cut: z.boolean().optional().describe('Whether there is more of `prompt`; the list of the city has all of it.'),
    choices: z.array(InteractionChoice).optional().describe('What can be answered.'),
    metadata: z.record(z.string(), z.string()).optional(),
    opened_at: z.string().optional(),
    agent: z.string().optional(),
    alias: z.string().optional(),
    title: z.string().optional(),
    template: z.string().optional(),
    ...told,
  }),
  'A session asks a person something, or does no longer. `status` is open, answered, cancelled or expired. When it is opened, it says what the list of ' +
    'the city does; the prompt is for a glance, and `prompt_cut` says that there is more of it. Choices and metadata that are long together are left to the list.',
);
export const SessionMessagePayload = contract(
  'SessionMessagePayload',
  z.strictObject({
    session_id: z.string(),
    message_id: z.string(),
    status: z.string().describe('What became of it.'),
    intent: z.string(),
    reason: z.string().optional(),
    ...told,
  }),
  'What became of a message that was queued for a session.',
);

/** Where the contract has no kind for a change of state; the others say it under the contract's names. */
export const SessionCreated = defineEvent(
  'session.created',
  1,
  SessionTransitionPayload,
  'A session is there; its process comes when it is wanted.',
);
export const SessionStarting = defineEvent('session.starting', 1, SessionTransitionPayload, 'A runner starts the process of a session.');
export const SessionStartFailed = defineEvent(
  'session.start_failed',
  1,
  SessionStartFailedPayload,
  'A start has failed; the message says why, and the payload when the next one is.',
);
export const SessionStartSlow = defineEvent(
  'session.start_slow',
  1,
  SessionStartSlowPayload,
  'A start takes long; the message says what is known of it.',
);
export const SessionWakeRequested = defineEvent('session.wake_requested', 1, SessionTransitionPayload, 'A session is wanted.');
export const SessionArchived = defineEvent('session.archived', 1, SessionTransitionPayload, 'A closed session was put away.');
export const SessionClosed = defineEvent('session.closed', 1, SessionTransitionPayload, 'A session is over.');
export const SessionInteractionOpened = defineEvent(
  'session.interaction.opened',
  2,
  SessionInteractionPayload,
  'A session asks a person something.',
);
export const SessionInteractionResolved = defineEvent(
  'session.interaction.resolved',
  1,
  SessionInteractionPayload,
  'What a session asked is answered, or no longer asked.',
);
/** A queued message was cancelled, expired, or its delivery could not be confirmed. */
export const SessionMessageDropped = defineEvent(
  'session.message.dropped',
  1,
  SessionMessagePayload,
  'A queued message was cancelled, expired, or nobody knows whether it came through.',
);

export const SessionWoke = defineEvent('session.woke', 1, SessionStatePayload, 'The process of a session is ready.');
export const SessionDraining = defineEvent('session.draining', 1, SessionStatePayload, 'A session is to end: it gets nothing new.');
export const SessionUndrained = defineEvent('session.undrained', 1, SessionStatePayload, 'A session that was to end stays.');
export const SessionQuarantined = defineEvent(
  'session.quarantined',
  1,
  SessionStatePayload,
  'A session fails again and again: it rests for a time.',
);
export const SessionIdleKilled = defineEvent(
  'session.idle_killed',
  1,
  SessionStatePayload,
  'A session had nothing to do for so long that it sleeps.',
);
export const SessionMaxAgeKilled = defineEvent(
  'session.max_age_killed',
  1,
  SessionStatePayload,
  'A session was so old that it begins a new process.',
);
export const SessionSuspended = defineEvent('session.suspended', 1, SessionStatePayload, 'Somebody has suspended a session.');
export const SessionUpdated = defineEvent(
  'session.updated',
  1,
  SessionStatePayload,
  'Something of a session has changed: its title, its alias, what it waits for.',
);
export const SessionColdStartTimeout = defineEvent(
  'session.cold_start_timeout',
  1,
  SessionStatePayload,
  'A session was not ready in time.',
);
export const SessionTurnStarted = defineEvent(
  'session.turn.started',
  1,
  SessionTurnPayload,
  'A turn of a session begins, whether somebody has sent it a message or not.',
);
export const SessionTurnEnded = defineEvent(
  'session.turn.ended',
  1,
  SessionTurnPayload,
  'A turn of a session is over, once each: also where its process, or its runner, is gone.',
);
export const SessionStopped = defineEvent('session.stopped', 1, SessionLifecyclePayload, 'The process of a session has ended.');
export const SessionCrashed = defineEvent(
  'session.crashed',
  1,
  SessionLifecyclePayload,
  'The process of a session has ended by itself, and not with 0.',
);
export const SessionWorkQueryFailed = defineEvent(
  'session.work_query_failed',
  1,
  SessionLifecyclePayload,
  'A command that finds work has failed. Known for clients; nothing here emits it.',
);
export const SessionDrainAckedWithAssignedWork = defineEvent(
  'session.drain_acked_with_assigned_work',
  1,
  SessionDrainAckedWithAssignedWorkPayload,
  'A session was drained while it held work. Known for clients; nothing here emits it.',
);
export const SessionStranded = defineEvent(
  'session.stranded',
  1,
  SessionStrandedPayload,
  'A session is gone while work is assigned to it.',
);
export const SessionUnknownState = defineEvent(
  'session.unknown_state',
  1,
  SessionUnknownStatePayload,
  'A session is in a state that nobody knows. Known for clients; nothing here emits it.',
);
export const SessionResetStalled = defineEvent(
  'session.reset_stalled',
  1,
  SessionResetStalledPayload,
  'A session was to begin a new conversation and has not.',
);
export const SessionCreateSucceeded = defineEvent('request.result.session.create', 1, SessionCreateSucceededPayload, 'A session is there.');
export const SessionMessageSucceeded = defineEvent(
  'request.result.session.message',
  1,
  SessionMessageSucceededPayload,
  'A message has reached its session.',
);
export const SessionSubmitSucceeded = defineEvent(
  'request.result.session.submit',
  1,
  SessionSubmitSucceededPayload,
  'What was submitted has reached its session, or waits in its queue.',
);
