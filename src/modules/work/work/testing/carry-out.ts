import type { BeadChange, BeadRecord } from '../bead-record.js';
import type { Work } from '../work.js';
import { innerOf, needsOf, viewOf, type ModelBead, type View } from './bead-model.js';
import { DEFERRALS, idOf, type Defer, type Ref, type Step, type UpdateStep } from './steps.js';
import type { WorkModel } from './work-model.js';

const TIMES = ['created_at', 'updated_at', 'closed_at'];

/** Does a step. What it answers is made comparable with what `expectation` says of the same step. */
export async function carryOut(work: Work, step: Step, made: string[]): Promise<unknown> {
  const id = (ref: Ref): string => idOf(made, ref);
  switch (step.kind) {
    case 'create': {
      const { kind: _, defer, parent, ...bead } = step;
      const deferUntil = defer && new Date(DEFERRALS[defer]);
      const record = await work.create({ ...bead, deferUntil, parent: parent === undefined ? undefined : id(parent) });
      made.push(record.id);
      return seen(record);
    }
    case 'update':
      return seen(await work.update(id(step.bead), changeOf(step, id)));
    case 'close':
      return seen(await work.close(id(step.bead), step.reason));
    case 'reopen':
      return seen(await work.reopen(id(step.bead)));
    case 'remove':
      return work.remove(id(step.bead));
    case 'putEdge':
      return work.putEdge({ issue_id: id(step.from), depends_on_id: id(step.to), type: step.type });
    case 'putEdges':
      return work.putEdges(id(step.from), [...new Set(step.to.map(id))], step.type);
    case 'deleteEdges':
      return work.deleteEdges(id(step.from), step.to.map(id));
    case 'deleteEdge':
      return work.deleteEdge(id(step.from), id(step.to));
    case 'look': {
      const records = await work.findAll(step.beads.map(id));
      const edges = [await work.edges(id(step.beads[0]!), 'down'), await work.edges(id(step.beads[0]!), 'up')];
      return { beads: records.map(seen), edges };
    }
    case 'abort':
      throw new Error('abort');
  }
}

/** What the model says that a step answers, given what the model's own step did. To be asked before the next step. */
export function expectation(model: WorkModel, step: Step, result: unknown): unknown {
  if (typeof result === 'string') return { ...view(model, model.beads.get(result)!) };
  if (step.kind !== 'look') return result;
  const ids = [...new Set(step.beads.map((ref) => idOf(model.ids, ref)))];
  const [first] = ids;
  const up = [...model.beads.values()].flatMap((bead) => needsOf(bead).filter((edge) => edge.depends_on_id === first));
  const down = model.beads.get(first!);
  return {
    beads: ids.flatMap((id) => model.beads.get(id) ?? []).map((bead) => view(model, bead)),
    edges: [down === undefined ? [] : needsOf(down), up.sort((a, b) => (a.issue_id < b.issue_id ? -1 : 1))],
  };
}

function view(model: WorkModel, bead: ModelBead): View {
  return { ...viewOf(model.beads, bead), ...innerOf(model.beads, bead) };
}

/** A record as the model would put it: the row's own columns, over the snapshot, which must say the same. */
function seen(record: BeadRecord): View {
  const { snapshot, id, title, status, issue_type, revision, open_blockers, ready, claim_fence, lease_ms, lease_until } = record;
  const row = { id, title, status, issue_type, revision, open_blockers, ready, claim_fence, lease_ms, leased: lease_until !== null };
  return { ...withoutTimes(snapshot), ...row };
}

/** A bead's JSON without its times; `defer_until` as the model writes it. */
export function withoutTimes(json: View): View {
  const { defer_until: until, ...rest } = Object.fromEntries(Object.entries(json).filter(([key]) => !TIMES.includes(key)));
  return until === undefined ? rest : { ...rest, defer_until: new Date(until as string).toISOString() };
}

function changeOf({ kind: _, bead: __, parent, defer, leaseMs, ...same }: UpdateStep, id: (ref: Ref) => string): BeadChange {
  const instant = (it: Defer | null): Date | null => (it === null ? null : new Date(DEFERRALS[it]));
  return {
    ...same,
    ...(parent === undefined ? {} : { parent: parent === null ? null : id(parent) }),
    ...(defer === undefined ? {} : { deferUntil: instant(defer) }),
    ...(leaseMs === undefined ? {} : { lease: { ms: leaseMs } }),
  };
}
