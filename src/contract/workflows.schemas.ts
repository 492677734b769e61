import { z } from 'zod';
import { contract } from './registry.js';
import { int64, seq } from './scalars.js';

export const WorkflowAttemptSummary = contract(
  'WorkflowAttemptSummary',
  z.strictObject({ active_attempt: int64, attempt_count: int64, max_attempts: int64.optional() }),
);
export const WorkflowBeadResponse = contract(
  'WorkflowBeadResponse',
  z.strictObject({
    id: z.string(),
    kind: z.string(),
    metadata: z.record(z.string(), z.string()),
    status: z.string(),
    title: z.string(),
    assignee: z.string().optional(),
    attempt: int64.optional(),
    logical_bead_id: z.string().optional(),
    scope_ref: z.string().optional(),
    step_ref: z.string().optional(),
  }),
);
export const WorkflowDepResponse = contract(
  'WorkflowDepResponse',
  z.strictObject({ from: z.string(), to: z.string(), kind: z.string().optional() }),
  '`to` depends on `from`.',
);
export const WorkflowEventProjection = contract(
  'WorkflowEventProjection',
  z.strictObject({
    bead: WorkflowBeadResponse,
    changed_fields: z.array(z.string()).nullable(),
    event_seq: seq,
    event_ts: z.string(),
    event_type: z.string(),
    logical_node_id: z.string(),
    root_bead_id: z.string(),
    root_store_ref: z.string(),
    scope_kind: z.string(),
    scope_ref: z.string(),
    type: z.string(),
    watch_generation: z.string(),
    workflow_id: z.string(),
    workflow_seq: seq,
    attempt_summary: WorkflowAttemptSummary.optional(),
    requires_resync: z.boolean().optional(),
  }),
);

export type WorkflowAttemptSummary = z.infer<typeof WorkflowAttemptSummary>;
export type WorkflowBeadResponse = z.infer<typeof WorkflowBeadResponse>;
export type WorkflowEventProjection = z.infer<typeof WorkflowEventProjection>;
