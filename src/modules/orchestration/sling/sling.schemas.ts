import { z } from 'zod';
import { beadTitle } from '../../../contract/beads.schemas.js';
import { contract } from '../../../contract/registry.js';
import { RunRef } from '../../../contract/runs.schemas.js';
import { queryEnum, queryInt, queryText } from '../../../contract/query.js';
import { int64, text } from '../../../contract/scalars.js';
import { formulaVars } from '../formulas/formulas.schemas.js';

/** The most members of one batch, and of one that is a single transaction and so keeps every other writer of the city waiting. */
export const MAX_BATCH = 5000;
export const MAX_TOGETHER = 200;
/** More than so many are slung by a worker, in the background. */
export const AT_ONCE = 200;
/** So many beads are slung in one transaction. */
export const STEP = 50;
/** The most steps of the runs that one batch launches, of those in a single transaction, and the characters of them, which are held until then. */
export const MAX_BATCH_STEPS = 20_000;
export const MAX_TOGETHER_STEPS = 4_000;
export const MAX_BATCH_CHARACTERS = 16 * 1024 * 1024;

const name = text.max(500);
const options = {
  target: name.min(1).describe('Who gets it: an agent, or a pool.'),
  rig: name.optional().describe('The rig in which a `target` without a rig is looked for. Absent: none.'),
  scope_kind: name.optional().describe('`rig`: the target has to be of the rig `scope_ref`. `city`: of any.'),
  scope_ref: name.optional().describe('With `scope_kind` `rig` the name of that rig.'),
  merge: name.optional(),
  owned: z.boolean().optional(),
  no_convoy: z.boolean().optional(),
  reassign: z.boolean().optional().describe('Take the bead from whoever has it.'),
  force: z.boolean().optional().describe('Sling it although something speaks against it, such as a target that is suspended.'),
  dry_run: z.boolean().optional(),
};
export type SlingOptions = z.infer<z.ZodObject<typeof options>>;

const formula = {
  formula: name
    .optional()
    .describe('The name of the formula: it is carried out for the bead, of a batch for each; without a bead by itself.'),

  title: beadTitle.optional().describe('The title of the run.'),
  vars: formulaVars.optional(),

  no_formula: z.boolean().optional().describe('True: the bead alone, whatever formula the target works by.'),
};
export type FormulaOptions = z.infer<z.ZodObject<typeof formula>>;

export const SlingInputBody = contract(
  'SlingInputBody',
  z.strictObject({
    ...options,
    ...formula,
    bead: name.optional().describe('The id of the bead that is slung. It or `formula` must be there.'),
    attached_bead_id: name.optional(),
  }),
  'What is given to whom.',
);
export type SlingInputBody = z.infer<typeof SlingInputBody>;

export const SlingEvent = contract(
  'SlingEvent',
  z.strictObject({
    type: z.string().describe('The kind of event.'),
    subject: z.string().describe('The bead, convoy or run that it is about.'),
  }),
  'An event that a sling appends to the log of the city.',
);
export type SlingEvent = z.infer<typeof SlingEvent>;

export const SlingResponse = contract(
  'SlingResponse',
  z.strictObject({
    status: z.enum(['slung', 'would_sling']).describe('`slung`, or `would_sling` in a dry run.'),

    target: z.string().describe('The canonical name of whom it went to.'),

    bead: z.string().optional().describe('What was slung; absent for a run that is attached to nothing.'),

    mode: z
      .enum(['direct', 'attached', 'standalone'])
      .describe(
        '`direct`: a bead, also when its target works by a formula. `attached`: a formula for a bead. `standalone`: a formula by itself.',
      ),
    formula: z.string().optional(),
    attached_bead_id: z.string().optional(),

    workflow_id: z.string().optional().describe('The id of the run and of its root bead.'),
    root_bead_id: z.string().optional(),
    run: RunRef.optional(),

    convoy_id: z.string().optional().describe('The open convoy that follows the bead.'),

    changed: z.boolean().describe('False when everything was as asked already.'),
    warnings: z.array(z.string()),

    events: z.array(SlingEvent).optional().describe('Of a dry run: what a real one appends, in this order.'),
  }),
  'What was given to whom, and what it led to.',
);
export type SlingResponse = z.infer<typeof SlingResponse>;

export const SlingBatchInputBody = contract(
  'SlingBatchInputBody',
  z.strictObject({
    ...options,
    ...formula,
    beads: z.array(name.min(1)).min(1).max(MAX_BATCH).optional().describe('The ids of the beads. 5,000 at the most.'),
    convoy: name.optional().describe('The convoy whose open members are slung, instead of `beads`.'),
    atomic: z.boolean().optional().describe('All of them or none, in one transaction: 200 at the most. Otherwise each by itself.'),
  }),
  'Beads that are given to somebody together.',
);
export type SlingBatchInputBody = z.infer<typeof SlingBatchInputBody>;

export const SlingBatchResult = contract(
  'SlingBatchResult',
  z.strictObject({
    bead: z.string().describe('The id of the bead.'),

    status: z
      .enum(['slung', 'would_sling', 'refused', 'skipped'])
      .describe('`slung`, or `would_sling` in a dry run; `refused` for the reason in `code`; `skipped`: a closed member of the convoy.'),
    changed: z.boolean().optional().describe('False when everything was as asked already.'),
    convoy_id: z.string().optional(),
    formula: z.string().optional(),

    workflow_id: z.string().optional().describe('The id of the run that carries the formula out, and of its root bead.'),
    run: RunRef.optional(),
    warnings: z.array(z.string()).optional(),

    code: z.string().optional().describe('Why it was refused, as the same bead alone would have been.'),
    detail: z.string().optional(),
  }),
  'What became of one of the beads.',
);
export type SlingBatchResult = z.infer<typeof SlingBatchResult>;

export const SlingBatchResponse = contract(
  'SlingBatchResponse',
  z.strictObject({
    status: z
      .enum(['slung', 'would_sling', 'partial', 'refused', 'accepted'])
      .describe(
        '`slung`; `partial` when some were refused, `refused` when all were; `would_sling` in a dry run; `accepted` with `request_id`: it goes on in the background.',
      ),
    target: z.string().describe('The canonical name of whom they went to.'),
    results: z
      .array(SlingBatchResult)
      .describe('What became of each, in the order of the request; none yet of a batch that is `accepted`.'),
    slung: int64.describe('How many were slung.'),
    refused: int64.describe('How many were refused.'),
    skipped: int64,
    events: z.array(SlingEvent).optional(),
    total: int64.optional().describe('With `request_id`: how many beads it is, without those that are skipped.'),
    request_id: z.string().optional().describe('Of a batch that goes on in the background. Absent: all of it is done.'),
    event_cursor: z
      .string()
      .optional()
      .describe('With `request_id`: the position of the city’s log before the first sling, to be given as `after_seq`.'),
  }),
  'What became of the beads.',
);
export type SlingBatchResponse = z.infer<typeof SlingBatchResponse>;

export const SlingBatchIdParam = z.string().min(1).max(100).describe('`request_id` of the answer that accepted the batch.');

const RESULT_STATUSES = ['slung', 'refused', 'skipped'] as const;
export const SlingBatchQuery = z.strictObject({
  limit: queryInt({ min: 1, max: 1000, default: 100 }),
  cursor: queryText(),
  status: queryEnum(RESULT_STATUSES).describe('Only results with this status.'),
});
export type SlingBatchQuery = z.infer<typeof SlingBatchQuery>;

const BATCH_STATUSES = ['accepted', 'running', 'canceling', 'slung', 'partial', 'refused', 'canceled', 'failed'] as const;
const batchStatus = z
  .enum(BATCH_STATUSES)
  .describe(
    '`accepted`, then `running`, or `canceling`; at its end `slung`, `partial` when some were refused, `refused` when all were, `canceled` or `failed`.',
  );

export const SlingBatchBody = contract(
  'SlingBatchBody',
  z.strictObject({
    request_id: z.string(),
    status: batchStatus,
    target: z.string().describe('The canonical name of whom they go to.'),
    total: int64.describe('How many beads it is, without those that are skipped.'),
    done: int64.describe('How many of them are slung or refused.'),
    slung: int64.describe('How many are slung.'),
    refused: int64.describe('How many are refused.'),
    skipped: int64,
    created_at: z.string().describe('When it was accepted.'),
    finished_at: z.string().optional().describe('When it ended. Absent while it goes on.'),
    error_code: z.string().optional().describe('Why it has failed.'),
    error_message: z.string().optional(),
    results: z.array(SlingBatchResult).describe('What became of each so far, in the order of the request.'),
    next_cursor: z.string().optional(),
  }),
  'How far a batch of many slings has come, and a page of what became of its beads.',
);
export type SlingBatchBody = z.infer<typeof SlingBatchBody>;

export const SlingBatchCancelBody = contract(
  'SlingBatchCancelBody',
  z.strictObject({ status: batchStatus, done: int64.describe('How many beads were slung or refused before.') }),
  'No more of the batch is slung.',
);
export type SlingBatchCancelBody = z.infer<typeof SlingBatchCancelBody>;
