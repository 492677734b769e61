import { z } from 'zod';
import { queryBool, queryInt, queryText } from '../../../contract/query.js';
import { contract } from '../../../contract/registry.js';
import { Run, RUN_STATUSES, RunStatus, RunStepStatus } from '../../../contract/runs.schemas.js';
import { int64, seq } from '../../../contract/scalars.js';
import { WorkflowBeadResponse, WorkflowDepResponse } from '../../../contract/workflows.schemas.js';

export const RunIdParam = z.string().min(1).max(255).regex(/\S/);

export const RunsQuery = z.strictObject({ limit: queryInt({ min: 0, max: 500, default: 100 }), cursor: queryText() });
export type RunsQuery = z.infer<typeof RunsQuery>;

const counts = Object.fromEntries(RUN_STATUSES.map((status) => [status, int64])) as Record<(typeof RUN_STATUSES)[number], typeof int64>;
export const RunStatusCounts = contract('RunStatusCounts', z.strictObject(counts), 'All runs of the city, by status.');
export type RunStatusCounts = z.infer<typeof RunStatusCounts>;

export const RunsListOutputBody = contract(
  'RunsListOutputBody',
  z.strictObject({
    runs: z.array(Run).nullable(),
    status_counts: RunStatusCounts,
    next_cursor: z.string().optional(),
    partial: z.boolean().optional(),
    partial_errors: z.array(z.string()).nullable().optional(),
  }),
  'A page of runs: those that go on, then those that wait, then those that have ended; the one that changed last is the first of each.',
);
export type RunsListOutputBody = z.infer<typeof RunsListOutputBody>;

export const RunsCensusOutputBody = contract(
  'RunsCensusOutputBody',
  z.strictObject({
    status_counts: RunStatusCounts,
    partial: z.boolean().optional(),
    partial_errors: z.array(z.string()).nullable().optional(),
  }),
);
export type RunsCensusOutputBody = z.infer<typeof RunsCensusOutputBody>;

export const RunStepCheck = contract(
  'RunStepCheck',
  z.strictObject({
    /** Which iteration it was about, from 1. */
    iteration: z.int(),
    passed: z.boolean(),
    reason: z.string(),
    exit_code: z.int().optional(),
    duration_ms: z.int().optional(),
    /** The end of what the script wrote, without what looks like a secret. */
    output: z.string().optional(),
  }),
);

export const RunStepUnit = contract(
  'RunStepUnit',
  z.strictObject({
    /** From 1: its steps are `<ref of the drain>.unit.<unit>.…` */
    unit: z.int(),
    /** The bead that it is for. */
    member: z.string(),
    status: z.enum(['active', 'completed', 'failed', 'skipped', 'canceled']),
    /** Why it ended as it did. */
    reason: z.string().optional(),
  }),
);

export const RunStep = contract(
  'RunStep',
  z.strictObject({
    id: z.string(),
    title: z.string(),
    status: RunStepStatus,
    kind: z.string().optional(),
    assignee: z.string().optional(),
    /** The step of the formula. */
    ref: z.string().optional(),
    /** The step that it is part of. */
    parent: z.string().optional(),
    /** The steps that it waits for, whether they are closed or not. */
    needs: z.array(z.string()),
    /** Of a check: what its script said last. */
    check: RunStepCheck.optional(),
    /** Of a drain that has taken the members of its convoy. */
    units: z.array(RunStepUnit).optional(),
    /** Of a step of a unit: the bead that the unit is for. */
    member: z.string().optional(),
  }),
);
export type RunStep = z.infer<typeof RunStep>;

export const RunStepsOutputBody = contract(
  'RunStepsOutputBody',
  z.strictObject({ run_id: z.string(), status: RunStatus, steps: z.array(RunStep).nullable() }),
);
export type RunStepsOutputBody = z.infer<typeof RunStepsOutputBody>;

export const RunCancelOutputBody = contract(
  'RunCancelOutputBody',
  z.strictObject({ run_id: z.string(), status: RunStatus, closed: int64 }),
);
export type RunCancelOutputBody = z.infer<typeof RunCancelOutputBody>;

const scope = {
  scope_kind: queryText().describe('`city` or `rig`'),
  scope_ref: queryText().describe('The name of the city, or of the rig.'),
};
export const WorkflowQuery = z.strictObject(scope);
export type WorkflowQuery = z.infer<typeof WorkflowQuery>;
export const WorkflowDeleteQuery = z.strictObject({ ...scope, delete: queryBool() });
export type WorkflowDeleteQuery = z.infer<typeof WorkflowDeleteQuery>;

const LogicalNode = contract('LogicalNode', z.looseObject({}));
const ScopeGroup = contract('ScopeGroup', z.looseObject({}));

export const WorkflowSnapshotResponse = contract(
  'WorkflowSnapshotResponse',
  z.strictObject({
    workflow_id: z.string(),
    root_bead_id: z.string(),
    root_store_ref: z.string(),
    resolved_root_store: z.string(),
    stores_scanned: z.array(z.string()).nullable(),
    scope_kind: z.string(),
    scope_ref: z.string(),
    beads: z.array(WorkflowBeadResponse).nullable(),
    deps: z.array(WorkflowDepResponse).nullable(),
    logical_nodes: z.array(LogicalNode).nullable(),
    logical_edges: z.array(WorkflowDepResponse).nullable(),
    scope_groups: z.array(ScopeGroup).nullable(),
    partial: z.boolean(),
    snapshot_version: seq,
    snapshot_event_seq: seq.optional(),
  }),
  'All beads of a run and what is between them, as they are at one position of the log.',
);
export type WorkflowSnapshotResponse = z.infer<typeof WorkflowSnapshotResponse>;

export const WorkflowDeleteResponse = contract(
  'WorkflowDeleteResponse',
  z.strictObject({
    workflow_id: z.string(),
    closed: int64,
    deleted: int64,
    partial: z.boolean().optional(),
    partial_errors: z.array(z.string()).nullable().optional(),
  }),
);
export type WorkflowDeleteResponse = z.infer<typeof WorkflowDeleteResponse>;
