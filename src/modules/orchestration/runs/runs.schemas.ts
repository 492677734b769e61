import { z } from 'zod';
import { queryBool, queryInt, queryText } from '../../../contract/query.js';
import { contract } from '../../../contract/registry.js';
import { Run, RUN_STATUSES, RunStatus, RunStepStatus } from '../../../contract/runs.schemas.js';
import { int64, seq } from '../../../contract/scalars.js';
import { WorkflowBeadResponse, WorkflowDepResponse } from '../../../contract/workflows.schemas.js';

export const RunIdParam = z.string().min(1).max(255).regex(/\S/).describe('The id of the run, which is that of its root bead.');

export const RunsQuery = z.strictObject({ limit: queryInt({ min: 0, max: 500, default: 100 }), cursor: queryText() });
export type RunsQuery = z.infer<typeof RunsQuery>;

const counts = Object.fromEntries(RUN_STATUSES.map((status) => [status, int64.describe(`How many runs are \`${status}\`.`)])) as Record<
  (typeof RUN_STATUSES)[number],
  typeof int64
>;
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
  'How many runs there are.',
);
export type RunsCensusOutputBody = z.infer<typeof RunsCensusOutputBody>;

export const RunStepCheck = contract(
  'RunStepCheck',
  z.strictObject({
    iteration: z.int().describe('Which iteration it was about, from 1.'),
    passed: z.boolean().describe('Whether the check is content.'),
    reason: z.string(),
    exit_code: z.int().optional(),
    duration_ms: z.int().optional(),

    output: z.string().optional().describe('The end of what the script wrote, without what looks like a secret.'),
  }),
  'What a check said last.',
);

export const RunStepUnit = contract(
  'RunStepUnit',
  z.strictObject({
    unit: z.int().describe('The number of the unit, from 1: its steps are `<ref of the drain>.unit.<unit>.…`'),

    member: z.string().describe('The bead that it is for.'),
    status: z.enum(['active', 'completed', 'failed', 'skipped', 'canceled']).describe('How far the unit is.'),

    reason: z.string().optional().describe('Why it ended as it did.'),
  }),
  'A unit of a drain: its steps for one bead.',
);

export const RunStep = contract(
  'RunStep',
  z.strictObject({
    id: z.string(),
    title: z.string(),
    status: RunStepStatus,
    kind: z.string().optional().describe('What the step is: `task`, or what the service does with it, such as `retry`, `loop` or `drain`.'),
    assignee: z.string().optional(),

    ref: z.string().optional().describe('The step of the formula.'),

    parent: z.string().optional().describe('The step that it is part of.'),

    needs: z.array(z.string()).describe('The steps, and the beads outside the run, that it waits for, whether they are closed or not.'),

    check: RunStepCheck.optional().describe('Of a check: what its script said last.'),

    units: z.array(RunStepUnit).optional().describe('Of a drain that has taken the members of its convoy: its units.'),

    member: z.string().optional().describe('Of a step of a unit: the bead that the unit is for.'),
  }),
  'A step of a run.',
);
export type RunStep = z.infer<typeof RunStep>;

export const RunStepsOutputBody = contract(
  'RunStepsOutputBody',
  z.strictObject({ run_id: z.string(), status: RunStatus, steps: z.array(RunStep).nullable() }),
  'The steps of a run.',
);
export type RunStepsOutputBody = z.infer<typeof RunStepsOutputBody>;

export const RunCancelOutputBody = contract(
  'RunCancelOutputBody',
  z.strictObject({ run_id: z.string(), status: RunStatus, closed: int64.describe('How many steps were closed for it.') }),
  'The run is canceled.',
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

const LogicalNode = contract('LogicalNode', z.looseObject({}), 'A step, its tries put together.');
const ScopeGroup = contract('ScopeGroup', z.looseObject({}), 'Steps of one scope.');

export const WorkflowSnapshotResponse = contract(
  'WorkflowSnapshotResponse',
  z.strictObject({
    workflow_id: z.string(),
    root_bead_id: z.string(),
    root_store_ref: z.string(),
    resolved_root_store: z.string().describe('The store that the root was found in.'),
    stores_scanned: z.array(z.string()).nullable().describe('The stores that were looked into. Null is the same as none.'),
    scope_kind: z.string(),
    scope_ref: z.string(),
    beads: z.array(WorkflowBeadResponse).nullable(),
    deps: z.array(WorkflowDepResponse).nullable(),
    logical_nodes: z.array(LogicalNode).nullable().describe('The steps, tries put together. Null is the same as none.'),
    logical_edges: z
      .array(WorkflowDepResponse)
      .nullable()
      .describe('What waits for what, tries put together. Null is the same as nothing.'),
    scope_groups: z.array(ScopeGroup).nullable().describe('Steps by the scope that they belong to. Null is the same as none.'),
    partial: z.boolean(),
    snapshot_version: seq.describe('Rises with every change of the run.'),
    snapshot_event_seq: seq.optional().describe('The position of the log at which this is so.'),
  }),
  'All beads of a run and what is between them, as they are at one position of the log.',
);
export type WorkflowSnapshotResponse = z.infer<typeof WorkflowSnapshotResponse>;

export const WorkflowDeleteResponse = contract(
  'WorkflowDeleteResponse',
  z.strictObject({
    workflow_id: z.string(),
    closed: int64.describe('How many beads were closed.'),
    deleted: int64.describe('How many beads were deleted.'),
    partial: z.boolean().optional(),
    partial_errors: z.array(z.string()).nullable().optional(),
  }),
  'What became of the beads of a run.',
);
export type WorkflowDeleteResponse = z.infer<typeof WorkflowDeleteResponse>;
