import { z } from 'zod';
import { boundedMap } from './bounded-map.js';
import { contract, demanded } from './registry.js';
import { dateTime, int64, text, titleOf } from './scalars.js';

export const SubmissionCapabilities = contract(
  'SubmissionCapabilities',
  z.strictObject({
    supports_follow_up: z.boolean().describe('Whether a message can wait for the end of a turn.'),
    supports_interrupt_now: z.boolean().describe('Whether a message can end a turn.'),
  }),
  'What a session can do with messages while it is at work.',
);
export const SessionCircuit = contract(
  'SessionCircuit',
  z.strictObject({
    restarts: int64.describe('How often its process has ended without a finished turn since the last one.'),
    open_until: z.string().optional().describe('Until when it is not started again. RFC 3339 in UTC; absent while it is.'),
  }),
  'The circuit breaker of a named session: how often its process has ended without a finished turn since the last one, and until when ' +
    'it is not started again for that.',
);
export const SessionRest = contract(
  'SessionRest',
  z.strictObject({
    reason: z.string().describe('Why no process is started, as one word.'),
    ended_by: z.array(z.enum(['time', 'demand', 'work', 'message', 'configuration', 'wake', 'reset'])),
    until: dateTime.optional(),
    attempt: int64.optional().describe('How many starts in a row have failed.'),
    attempts: int64.optional().describe('How many are made.'),
    detail: z.string().optional().describe('What went wrong, in the words of the last failure.'),
  }),
  'Why no process is started although one may be wanted. `detail` is what went wrong, in the words of the last failure. `ended_by` says what ends it: ' +
    '`time` by itself at `until`; `demand`, work or a message that waits for it then; `work`, some that is new, or slung again; `message`, one that is sent to it; `configuration`, files that say another thing about what is ' +
    'started; `wake`, somebody who wakes the session; `reset`, one who resets it or wakes it by force. ' +
    '`attempt` is how many starts in a row have failed, of the `attempts` that are made.',
);
export type SessionRest = z.infer<typeof SessionRest>;
export const SessionStart = contract(
  'SessionStart',
  z.strictObject({
    until: dateTime.describe('When it is given up. RFC 3339 in UTC.'),
    detail: z.string().optional().describe('What is known of it, once it takes long.'),
  }),
  'A process that is not ready yet. It is given up at `until`; `detail` is there once it takes long, and says what is known of it.',
);
export type SessionStart = z.infer<typeof SessionStart>;

export const SessionResponse = contract(
  'SessionResponse',
  z.strictObject({
    attached: z.boolean(),
    created_at: z.string(),
    id: z.string().describe('The id of the session.'),
    provider: z.string(),
    running: z.boolean().describe('Whether it has a process.'),
    session_name: z.string(),
    state: z
      .string()
      .describe(
        '`start-pending`, `creating`, `active`, `asleep`, `suspended`, `draining`, `archived`, `quarantined`, `failed-create` or `closed`.',
      ),
    template: z.string(),
    title: z.string(),
    active_bead: z.string().optional(),
    activity: z.string().optional(),
    agent_kind: z
      .string()
      .optional()
      .describe('`pool` for a member of a pool, `crew` for what is in a rig of that name, `role` for others.'),
    alias: z.string().optional(),
    configured_named_session: z.boolean().optional().describe('True for a session that the files name.'),
    context_pct: int64.optional(),
    context_window: int64.optional(),
    display_name: z.string().optional().describe('The name of its provider for people.'),
    kind: z.string().optional().describe('`agent` or `provider`: what it was made of.'),
    last_active: z.string().optional().describe('The end of its last turn. RFC 3339 in UTC.'),
    last_nudge_delivered_at: z.string().optional().describe('When it was reminded of its work last. RFC 3339 in UTC.'),
    last_output: z.string().optional(),
    metadata: z.record(z.string(), z.string()).optional(),
    model: z.string().optional(),
    options: z.record(z.string(), z.string()).optional(),
    pool: z.string().optional(),
    reason: z.string().optional().describe('Why it is not simply active.'),
    rig: z.string().optional(),
    submission_capabilities: SubmissionCapabilities.optional(),
    work_dir: z.string().optional(),
    applied: z
      .enum(['live', 'stored'])
      .optional()
      .describe('Whether the process has the new permission mode, or its next one will. Answers a change of it only.'),
    circuit: SessionCircuit.optional(),
    rest: SessionRest.optional(),
    starting: SessionStart.optional(),
  }),
  'A session. `reason` says why it is not simply active; `last_active` is the end of its last turn. `applied` answers a change of the ' +
    'permission mode only.',
);

/** Everything that has to be filled in is checked by hand: an empty `name` or `kind` is a 400, not a 422. */
export const SessionCreateBody = contract(
  'SessionCreateBody',
  z.strictObject({
    alias: text.max(256).optional(),
    async: z.boolean().optional().describe('Accepted for the contract’s sake: creating is asynchronous anyway.'),
    kind: demanded(text.max(64).optional().describe('`agent` or `provider`: what `name` is.')),
    message: text.max(1_000_000).optional().describe('What it is told first. Absent: it waits.'),
    name: demanded(text.max(512).optional().describe('The agent or the provider that it is made of.')),
    options: boundedMap(z.record(text.max(128), text.max(1024)), 500, 'must have at most 500 entries')
      .optional()
      .describe('Values of the provider’s options, by their keys.'),
    project_id: text.max(512).optional().describe('Kept with the session, for whoever made it.'),
    session_name: text.max(256).optional().describe('Refused: the service makes this name itself. Give an `alias`.'),
    title: text.max(1024).optional(),
  }),
  'What a session is made of.',
);
const title = titleOf(1024);
export const SessionPatchBody = contract(
  'SessionPatchBody',
  z.strictObject({
    alias: text.max(256).optional().describe('The new alias; an empty text takes it away. Absent: as it is.'),
    title: title.optional().describe('The new title. Absent: as it is.'),
  }),
  'What is to be another thing of a session.',
);
export const SessionRenameInputBody = contract(
  'SessionRenameInputBody',
  z.strictObject({ title: title.describe('The new title.') }),
  'The new title of a session.',
);
export const SessionPermissionModeBody = contract(
  'SessionPermissionModeBody',
  z.strictObject({
    permission_mode: text
      .min(1)
      .max(1024)
      .regex(/\S/, 'must not be blank')
      .describe('The mode, one of those that the provider’s options have.'),
  }),
  'The new permission mode of a session.',
);
export const OKWithIDResponseBody = contract(
  'OKWithIDResponseBody',
  z.strictObject({
    status: z.string().describe('Always `ok`.'),
    id: z.string().optional().describe('The id of the session.'),
    decision: z
      .enum(['awake', 'starting', 'wanted', 'after_stop'])
      .optional()
      .describe('Of a wake only: it is awake, is being started, waits for a runner, or is started again once its process has ended.'),
  }),
  '`decision` answers a wake only: it is awake, is being started, waits for a runner, or is started again once its process has ended.',
);
export const ListBodySessionResponse = contract(
  'ListBodySessionResponse',
  z.strictObject({
    items: z.array(SessionResponse).nullable(),
    total: int64,
    total_is_estimate: z.boolean().optional(),
    next_cursor: z.string().optional(),
    partial: z.boolean().optional(),
    partial_errors: z.array(z.string()).nullable().optional(),
  }),
  'A page of sessions.',
);

export type SessionCreateBody = z.infer<typeof SessionCreateBody>;
export type SessionPatchBody = z.infer<typeof SessionPatchBody>;
export type SessionRenameInputBody = z.infer<typeof SessionRenameInputBody>;
export type SessionPermissionModeBody = z.infer<typeof SessionPermissionModeBody>;
export type OKWithIDResponseBody = z.infer<typeof OKWithIDResponseBody>;
export type ListBodySessionResponse = z.infer<typeof ListBodySessionResponse>;
export type SubmissionCapabilities = z.infer<typeof SubmissionCapabilities>;
export type SessionResponse = z.infer<typeof SessionResponse>;
