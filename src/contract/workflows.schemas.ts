import { z } from 'zod';
import { contract } from './registry.js';
import { int64, seq } from './scalars.js';

export const WorkflowAttemptSummary = contract(
  'WorkflowAttemptSummary',
  z.strictObject({
    active_attempt: int64.describe('The try that goes on.'),
    attempt_count: int64.describe('How many tries there were.'),
    max_attempts: int64.optional().describe('How many there may be.'),
  }),
  'The tries of a step.',
);
export const WorkflowBeadResponse = contract(
  'WorkflowBeadResponse',
  z.strictObject({
    id: z.string(),
    kind: z.string(),
    metadata: z.record(z.string(), z.string()),
    status: z.string().describe('`open`, `in_progress` or `closed`.'),
    title: z.string(),
    assignee: z.string().optional(),
    attempt: int64.optional(),
    logical_bead_id: z.string().optional(),
    scope_ref: z.string().optional(),
    step_ref: z.string().optional().describe('The step of the formula.'),
  }),
  'A bead of a run, as graphs show it.',
);
export const WorkflowDepResponse = contract(
  'WorkflowDepResponse',
  z.strictObject({
    from: z.string().describe('The bead that comes first.'),
    to: z.string().describe('The bead that depends on it.'),
    kind: z.string().optional().describe('The type of the edge, such as `blocks`.'),
  }),
  '`to` depends on `from`.',
);
export const WorkflowEventProjection = contract(
  'WorkflowEventProjection',
  z.strictObject({
    bead: WorkflowBeadResponse,
    changed_fields: z.array(z.string()).nullable().describe('What of the bead changed. Null is the same as unknown.'),
    event_seq: seq.describe('The position of the event in the log.'),
    event_ts: z.string().describe('When it happened. RFC 3339 in UTC.'),
    event_type: z.string(),
    logical_node_id: z.string().describe('The step that it is about.'),
    root_bead_id: z.string(),
    root_store_ref: z.string(),
    scope_kind: z.string(),
    scope_ref: z.string(),
    type: z.string(),
    watch_generation: z.string().describe('Changes when positions no longer go on from those before.'),
    workflow_id: z.string(),
    workflow_seq: seq.describe('The position within the run.'),
    attempt_summary: WorkflowAttemptSummary.optional(),
    requires_resync: z.boolean().optional().describe('True when the graph has to be read again.'),
  }),
  'What an event means for the graph of a run.',
);

export type WorkflowAttemptSummary = z.infer<typeof WorkflowAttemptSummary>;
export type WorkflowBeadResponse = z.infer<typeof WorkflowBeadResponse>;
export type WorkflowEventProjection = z.infer<typeof WorkflowEventProjection>;
