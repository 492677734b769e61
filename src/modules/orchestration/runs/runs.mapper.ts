import type { Run, RunStatus } from '../../../contract/runs.schemas.js';
import type { WorkflowBeadResponse } from '../../../contract/workflows.schemas.js';
import type { StoredVerdict } from './control/facts.js';
import type { StepRow, UnitRow } from './run-reads.repository.js';
import type { RunRow } from './run-row.js';
import type { RunStatusCounts, RunStep, WorkflowSnapshotResponse } from './runs.schemas.js';

export interface Scope {
  readonly kind: 'city' | 'rig';
  readonly ref: string;
}

export function scopeOf({ rig }: Pick<RunRow, 'rig'>, city: string): Scope {
  return rig === '' ? { kind: 'city', ref: city } : { kind: 'rig', ref: rig };
}

/** Whom a run is for, as lists say it. */
export function targetOf({ target }: Pick<RunRow, 'target'>): string {
  return target ?? 'workflow';
}

export function toRun(row: RunRow, city: string): Run {
  const error = row.status === 'failed' || row.status === 'canceled' ? { code: row.error_code ?? row.outcome ?? row.status } : undefined;
  return {
    run_id: row.id,
    title: row.title,
    status: row.status,
    scope: scopeOf(row, city),
    formula: row.formula,
    target: targetOf(row),
    started_at: row.started_at.toISOString(),
    updated_at: row.updated_at.toISOString(),
    ...(error === undefined ? {} : { last_error: { ...error, ...(row.error_message === null ? {} : { message: row.error_message }) } }),
    ...(row.source_id === null ? {} : { source_id: row.source_id }),
    compiler: row.compiler === 1 ? '1' : '2',
    progress: { total: row.steps, active: row.active, closed: row.closed },
  };
}

export function toCounts(rows: readonly { readonly status: RunStatus; readonly runs: number }[]): RunStatusCounts {
  const counts: RunStatusCounts = { pending: 0, active: 0, waiting: 0, canceling: 0, completed: 0, failed: 0, canceled: 0, skipped: 0 };
  for (const { status, runs } of rows) counts[status] = runs;
  return counts;
}

/** The word for a step: of a run that has ended, nothing is still to be done. */
function statusOf({ status, metadata, open_blockers: blockers }: StepRow, { outcome }: RunRow): RunStep['status'] {
  if (status !== 'closed' && outcome !== null) return status === 'open' ? 'skipped' : outcome === 'pass' ? 'completed' : 'canceled';
  if (status === 'in_progress') return 'active';
  if (status === 'open') return blockers > 0 ? 'blocked' : 'pending';
  const said = metadata['gc.outcome'];
  return said === 'fail' ? 'failed' : said === 'skipped' || said === 'canceled' ? said : 'completed';
}

export function toStep(bead: StepRow, run: RunRow): RunStep {
  return {
    id: bead.id,
    title: bead.title,
    status: statusOf(bead, run),
    kind: bead.issue_type,
    ...(bead.assignee === null ? {} : { assignee: bead.assignee }),
    ...(bead.ref === null ? {} : { ref: bead.ref }),
    ...(bead.parent === null || bead.parent === run.id ? {} : { parent: bead.parent }),
    needs: (bead.deps ?? []).filter(({ blocking }) => blocking).map(({ id }) => id),
    ...(bead.verdict === null ? {} : { check: toCheck(bead.verdict) }),
    ...(bead.units === null ? {} : { units: bead.units.map(toUnit) }),
    ...(bead.metadata['gc.drain_member_id'] === undefined ? {} : { member: bead.metadata['gc.drain_member_id'] }),
  };
}

const ENDED = { pass: 'completed', fail: 'failed', skipped: 'skipped', canceled: 'canceled' } as const;

function toUnit({ n, member, outcome, reason }: UnitRow): NonNullable<RunStep['units']>[number] {
  return { unit: n, member, status: outcome === null ? 'active' : ENDED[outcome], ...(reason === null ? {} : { reason }) };
}

function toCheck({ round, passed, reason, exit_code, duration_ms, output }: StoredVerdict): NonNullable<RunStep['check']> {
  return {
    iteration: round,
    passed,
    reason,
    ...(exit_code === undefined || exit_code === null ? {} : { exit_code }),
    ...(duration_ms === undefined ? {} : { duration_ms }),
    ...(output === undefined ? {} : { output }),
  };
}

export function toSnapshot(run: RunRow, beads: readonly StepRow[], city: string, head: number): WorkflowSnapshotResponse {
  const scope = scopeOf(run, city);
  const store = `${scope.kind}:${scope.ref}`;
  const inside = new Set(beads.map(({ id }) => id));
  return {
    workflow_id: run.id,
    root_bead_id: run.id,
    root_store_ref: store,
    resolved_root_store: store,
    stores_scanned: [store],
    scope_kind: scope.kind,
    scope_ref: scope.ref,
    beads: beads.map((bead) => toWorkflowBead(bead, run)),
    deps: beads.flatMap(({ id, deps }) =>
      (deps ?? []).filter((dep) => inside.has(dep.id)).map((dep) => ({ from: dep.id, to: id, kind: dep.type })),
    ),
    logical_nodes: [],
    logical_edges: [],
    scope_groups: [],
    partial: false,
    snapshot_version: head,
    snapshot_event_seq: head,
  };
}

function toWorkflowBead(bead: StepRow, run: RunRow): WorkflowBeadResponse {
  const { 'gc.kind': kind, 'gc.scope_ref': scope, 'gc.logical_bead_id': logical } = bead.metadata;
  const status = statusOf(bead, run);
  return {
    id: bead.id,
    title: bead.title,
    // Work that nobody has is still to be done.
    status: status === 'active' && bead.assignee === null ? 'pending' : status,
    kind: kind ?? bead.issue_type,
    metadata: { ...bead.metadata },
    ...(bead.assignee === null ? {} : { assignee: bead.assignee }),
    ...(bead.ref === null ? {} : { step_ref: bead.ref }),
    ...(scope === undefined ? {} : { scope_ref: scope }),
    ...(logical === undefined ? {} : { logical_bead_id: logical }),
  };
}
