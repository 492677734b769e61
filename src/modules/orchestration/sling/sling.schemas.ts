import { z } from 'zod';
import { beadTitle } from '../../../contract/beads.schemas.js';
import { contract } from '../../../contract/registry.js';
import { RunRef } from '../../../contract/runs.schemas.js';
import { int64, text } from '../../../contract/scalars.js';

/** The most members of one batch, and of one that is a single transaction and so keeps every other writer of the city waiting. */
export const MAX_BATCH = 1000;
export const MAX_TOGETHER = 200;
/** The most steps of the runs that one batch launches, of those in a single transaction, and the characters of them, which are held until then. */
export const MAX_BATCH_STEPS = 20_000;
export const MAX_TOGETHER_STEPS = 4_000;
export const MAX_BATCH_CHARACTERS = 16 * 1024 * 1024;

const name = text.max(500);
const options = {
  target: name.min(1),
  rig: name.optional(),
  scope_kind: name.optional(),
  scope_ref: name.optional(),
  merge: name.optional(),
  owned: z.boolean().optional(),
  no_convoy: z.boolean().optional(),
  reassign: z.boolean().optional(),
  force: z.boolean().optional(),
  dry_run: z.boolean().optional(),
};
export type SlingOptions = z.infer<z.ZodObject<typeof options>>;

const formula = {
  /** What is to be done, instead of a bead, or for the beads. */
  formula: name.optional(),
  /** Of the run. */
  title: beadTitle.optional(),
  vars: z.record(text.max(128), text).optional(),
  /** True: the bead alone, whatever formula the target works by. */
  no_formula: z.boolean().optional(),
};
export type FormulaOptions = z.infer<z.ZodObject<typeof formula>>;

export const SlingInputBody = contract(
  'SlingInputBody',
  z.strictObject({
    ...options,
    ...formula,
    bead: name.optional(),
    attached_bead_id: name.optional(),
  }),
);
export type SlingInputBody = z.infer<typeof SlingInputBody>;

export const SlingEvent = contract(
  'SlingEvent',
  z.strictObject({ type: z.string(), subject: z.string() }),
  'An event that a sling appends to the log of the city.',
);
export type SlingEvent = z.infer<typeof SlingEvent>;

export const SlingResponse = contract(
  'SlingResponse',
  z.strictObject({
    /** `would_sling` in a dry run. */
    status: z.enum(['slung', 'would_sling']),
    /** The canonical name of whom it went to. */
    target: z.string(),
    /** What was slung; absent for a run that is attached to nothing. */
    bead: z.string().optional(),
    /** `direct`: a bead, also when its target works by a formula. `attached`: a formula for a bead. `standalone`: a formula by itself. */
    mode: z.enum(['direct', 'attached', 'standalone']),
    formula: z.string().optional(),
    attached_bead_id: z.string().optional(),
    /** The id of the run and of its root bead. */
    workflow_id: z.string().optional(),
    root_bead_id: z.string().optional(),
    run: RunRef.optional(),
    /** The open convoy that follows the bead. */
    convoy_id: z.string().optional(),
    /** False when everything was as asked already. */
    changed: z.boolean(),
    warnings: z.array(z.string()),
    /** Of a dry run: what a real one appends, in this order. */
    events: z.array(SlingEvent).optional(),
  }),
);
export type SlingResponse = z.infer<typeof SlingResponse>;

export const SlingBatchInputBody = contract(
  'SlingBatchInputBody',
  z.strictObject({
    ...options,
    ...formula,
    beads: z.array(name.min(1)).min(1).max(MAX_BATCH).optional(),
    convoy: name.optional(),
    atomic: z.boolean().optional(),
  }),
);
export type SlingBatchInputBody = z.infer<typeof SlingBatchInputBody>;

export const SlingBatchResult = contract(
  'SlingBatchResult',
  z.strictObject({
    bead: z.string(),
    /** `skipped`: a closed member of the convoy. */
    status: z.enum(['slung', 'would_sling', 'refused', 'skipped']),
    changed: z.boolean().optional(),
    convoy_id: z.string().optional(),
    formula: z.string().optional(),
    /** The id of the run that carries the formula out, and of its root bead. */
    workflow_id: z.string().optional(),
    run: RunRef.optional(),
    warnings: z.array(z.string()).optional(),
    /** Why it was refused, as the same bead alone would have been. */
    code: z.string().optional(),
    detail: z.string().optional(),
  }),
);
export type SlingBatchResult = z.infer<typeof SlingBatchResult>;

export const SlingBatchResponse = contract(
  'SlingBatchResponse',
  z.strictObject({
    status: z.enum(['slung', 'would_sling', 'partial', 'refused']),
    target: z.string(),
    results: z.array(SlingBatchResult),
    slung: int64,
    refused: int64,
    skipped: int64,
    events: z.array(SlingEvent).optional(),
  }),
);
export type SlingBatchResponse = z.infer<typeof SlingBatchResponse>;
