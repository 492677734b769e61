import { z } from 'zod';
import { beadTitle } from '../../../contract/beads.schemas.js';
import { parseDuration } from '../../../contract/duration.js';
import { queryBool, queryInt, queryText } from '../../../contract/query.js';
import { contract } from '../../../contract/registry.js';
import { instant, text } from '../../../contract/scalars.js';

export const WaitIdParam = text.min(1).max(255).describe('The id of the wait.');

export const WaitView = contract(
  'WaitView',
  z.strictObject({
    id: z.string(),
    session_id: z.string().describe('Who waits: the canonical name of an agent, or the name that was given.'),
    kind: z.string().describe('`deps` waits for beads, `manual` to be told.'),
    state: z.string().describe('`pending`, `ready`, `closed`, `failed`, `expired` or `canceled`.'),
    status: z.string().meta({ description: 'The status of the bead that the wait is.' }),
    created_at: z.string().optional(),
    session_name: z.string().optional().describe('The same as `session_id`.'),
    note: z.string().optional().describe('What the session is told when the wait is ready.'),
    labels: z.array(z.string()).nullable().optional(),
    dep_ids: z.array(z.string()).nullable().optional().describe('The beads that it waits for. Null is the same as none.'),
    dep_mode: z.string().optional(),
    registered_epoch: z
      .string()
      .optional()
      .describe('The conversation of the session in which it was made, as text: they are counted from 1.'),
    delivery_attempt: z
      .string()
      .optional()
      .describe('Which try at telling its session it is, as text: from 1, one more with each wait that goes on from another.'),
    nudge_id: z.string().optional().meta({ description: 'Names the reminder that a ready wait sends; to be given with its outcome.' }),
    expires_at: z.string().optional().describe('When its time runs out. RFC 3339 in UTC; absent when it never does.'),
    ready_at: z.string().optional().describe('When it became ready. RFC 3339 in UTC.'),
    closed_at: z.string().optional(),
    failed_at: z.string().optional().describe('When telling its session failed. RFC 3339 in UTC.'),
    expired_at: z.string().optional().describe('When its time ran out. RFC 3339 in UTC.'),
    canceled_at: z.string().optional().describe('When it was canceled. RFC 3339 in UTC.'),
    last_error: z.string().optional(),
    close_reason: z.string().optional().describe('Why it was canceled or closed.'),
    retried_from_wait: z.string().optional().describe('The finished wait that it goes on from.'),
  }),
  'A session that is told when something has happened.',
);
export type WaitView = z.infer<typeof WaitView>;

export const WaitListBody = contract(
  'WaitListBody',
  z.strictObject({
    waits: z.array(WaitView).nullable().describe('The waits of this page. Null is the same as none.'),
    capped: z.boolean().meta({ description: 'There are more than are shown; `next_cursor` goes on.' }),
    next_cursor: z.string().optional(),
    partial: z.boolean().optional(),
    partial_errors: z.array(z.string()).nullable().optional(),
  }),
  'A page of waits.',
);
export type WaitListBody = z.infer<typeof WaitListBody>;

export const WaitsQuery = z.strictObject({
  state: queryText().describe('Only in this state. Absent: those that go on, or with `all` every one.'),
  session: queryText(),
  all: queryBool().describe('Finished waits too.'),
  limit: queryInt({ min: 0, max: 1000, default: 1000 }),
  cursor: queryText(),
});
export type WaitsQuery = z.infer<typeof WaitsQuery>;

const bounded = { dep: 255, session: 190, note: 16 * 1024, error: 16 * 1024, nudge: 400 };

export const WaitCreateInputBody = contract(
  'WaitCreateInputBody',
  z
    .strictObject({
      session: text.max(bounded.session).regex(/\S/).meta({ description: 'Who waits: the address of an agent, or any name.' }),
      kind: z
        .enum(['deps', 'manual'])
        .default('deps')
        .meta({ description: '`deps` waits for beads; `manual` becomes ready only when it is told to.' }),
      dep_ids: z
        .array(text.min(1).max(bounded.dep))
        .max(1000)
        .default([])
        .meta({ description: 'The beads that a wait of kind `deps` waits for to be closed.' }),
      dep_mode: z.enum(['all', 'any']).default('all'),
      note: text.max(bounded.note).optional().meta({ description: 'What the session is told when the wait is ready.' }),
      title: beadTitle.optional().describe('One line for people. Absent: made from what it waits for.'),
      expires_at: instant.optional().describe('Its time runs out then. RFC 3339.'),
      timeout: z
        .string()
        .refine((value) => (parseDuration(value) ?? 0) > 0, 'must be a positive duration such as 30m')
        .optional()
        .meta({ description: 'Instead of `expires_at`: how long from now.' }),
    })
    .refine((body) => body.kind === 'manual' || body.dep_ids.length > 0, { path: ['dep_ids'], error: 'must name a bead to wait for' })
    .refine((body) => body.kind === 'deps' || body.dep_ids.length === 0, { path: ['dep_ids'], error: 'a manual wait waits for no beads' })
    .refine((body) => body.expires_at === undefined || body.timeout === undefined, {
      path: ['timeout'],
      error: 'cannot be given with expires_at',
    }),
  'A new wait.',
);
export type WaitCreateInput = z.infer<typeof WaitCreateInputBody>;

export const WaitCancelInputBody = contract(
  'WaitCancelInputBody',
  z.strictObject({ reason: text.max(bounded.error).optional().describe('Why it is canceled; kept on it.') }),
  'Why a wait is canceled.',
);
export type WaitCancelInput = z.infer<typeof WaitCancelInputBody>;

const nudge_id = text.min(1).max(bounded.nudge);
export const WaitAcceptInputBody = contract(
  'WaitAcceptInputBody',
  z.strictObject({ nudge_id }),
  'The reminder that has reached its session.',
);
export type WaitAcceptInput = z.infer<typeof WaitAcceptInputBody>;

export const WaitFailInputBody = contract(
  'WaitFailInputBody',
  z.strictObject({ nudge_id, error: text.min(1).max(bounded.error).describe('Why its session could not be told.') }),
  'The reminder that could not be delivered.',
);
export type WaitFailInput = z.infer<typeof WaitFailInputBody>;
