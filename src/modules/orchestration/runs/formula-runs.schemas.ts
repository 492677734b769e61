import { z } from 'zod';
import { queryInt } from '../../../contract/query.js';
import { contract } from '../../../contract/registry.js';
import { int64 } from '../../../contract/scalars.js';
import { FormulaRecentRunResponse, SCOPE } from '../formulas/formulas.schemas.js';

export const FormulaRunsQuery = z.strictObject({ ...SCOPE, limit: queryInt({ min: 0, max: 20, default: 3 }) });
export type FormulaRunsQuery = z.infer<typeof FormulaRunsQuery>;
export const FormulaFeedQuery = z.strictObject({ ...SCOPE, limit: queryInt({ min: 0, max: 500, default: 50 }) });
export type FormulaFeedQuery = z.infer<typeof FormulaFeedQuery>;

export const FormulaRunsResponse = contract(
  'FormulaRunsResponse',
  z.strictObject({
    formula: z.string(),
    run_count: int64,
    recent_runs: z.array(FormulaRecentRunResponse).nullable(),
    partial: z.boolean(),
    partial_errors: z.array(z.string()).nullable().optional(),
  }),
  'The runs of a formula.',
);
export type FormulaRunsResponse = z.infer<typeof FormulaRunsResponse>;

export const MonitorFeedItemResponse = contract(
  'MonitorFeedItemResponse',
  z.strictObject({
    id: z.string(),
    type: z.string().describe('What it is: `workflow` for a formula that is carried out, `exec` or `formula` for an order.'),
    status: z.string().describe('How far it is, as one word.'),
    title: z.string(),
    scope_kind: z.string(),
    scope_ref: z.string(),
    target: z.string(),
    started_at: z.string(),
    updated_at: z.string(),
    attached_bead_id: z.string().optional(),
    bead_id: z.string().optional().describe('The bead that it is for, or the firing.'),
    detail_available: z.boolean().optional().describe('Whether more can be read of it.'),
    logical_bead_id: z.string().optional(),
    root_bead_id: z.string().optional(),
    root_store_ref: z.string().optional(),
    run_detail_available: z.boolean().optional().describe('Whether the graph of its run can be read.'),
    store_ref: z.string().optional(),
    workflow_id: z.string().optional(),
  }),
  'Something that is being carried out, or was.',
);
export type MonitorFeedItemResponse = z.infer<typeof MonitorFeedItemResponse>;

export const FormulaFeedBody = contract(
  'FormulaFeedBody',
  z.strictObject({
    items: z.array(MonitorFeedItemResponse).nullable().describe('Runs that go on and those that ended last. Null is the same as none.'),
    partial: z.boolean(),
    partial_errors: z.array(z.string()).nullable().optional(),
  }),
  'The graphs that are being carried out, or were.',
);
export type FormulaFeedBody = z.infer<typeof FormulaFeedBody>;
