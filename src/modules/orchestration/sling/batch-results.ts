import { problem, ProblemError, type ProblemField, type ProblemName } from '../../../contract/problems.js';
import type { BatchPlan } from './batch-plans.js';
import type { SlungSomething } from './sling-dispatch.js';
import type { SlingBatchInputBody, SlingBatchResponse, SlingBatchResult, SlingEvent } from './sling.schemas.js';

/** What is wrong with one bead; anything else is wrong with the whole batch. */
const REFUSALS: ReadonlySet<ProblemName> = new Set([
  'sling_missing_bead',
  'sling_cross_rig',
  'sling_refused',
  'sling_source_conflict',
  'wrong_state',
  'invalid_request',
  'rig_not_found',
  'forbidden',
]);

/** The result of slinging one bead of a batch: a refusal is one too. @throws what is wrong with the whole batch */
export function resultOf(bead: string, { convoy }: BatchPlan, dry: boolean, outcome: SlungSomething | ProblemError): SlingBatchResult {
  if (outcome instanceof ProblemError) {
    if (!REFUSALS.has(outcome.problem)) throw outcome;
    return { bead, status: 'refused', code: outcome.kind.code, detail: outcome.detail };
  }
  const { convoy_id: own = convoy, changed, warnings, formula, workflow_id: id, run } = outcome;
  return {
    bead,
    status: dry ? 'would_sling' : 'slung',
    changed,
    ...(own === undefined ? {} : { convoy_id: own }),
    ...(run === undefined ? {} : { formula, workflow_id: id, run }),
    warnings,
  };
}

export function batchAnswer(
  plan: BatchPlan,
  results: readonly SlingBatchResult[],
  dry: boolean,
  events?: readonly SlingEvent[],
): SlingBatchResponse {
  const refused = results.filter(({ status }) => status === 'refused').length;
  const slung = results.length - refused;
  return {
    status: refused === 0 ? (dry ? 'would_sling' : 'slung') : slung === 0 ? 'refused' : 'partial',
    target: plan.order.target.name,
    results: [...results, ...plan.skipped.map((bead): SlingBatchResult => ({ bead, status: 'skipped' }))],
    slung,
    refused,
    skipped: plan.skipped.length,
    ...(events === undefined ? {} : { events: [...events] }),
  };
}

/** @throws ProblemError sling_refused that names every bead refused. */
export function requireAll(results: readonly SlingBatchResult[], { beads }: SlingBatchInputBody): void {
  const refused = results.filter(({ status }) => status === 'refused');
  if (refused.length === 0) return;
  const errors = refused.map(({ bead, detail }): ProblemField => {
    const location = beads === undefined ? 'body.convoy' : `body.beads.${beads.indexOf(bead)}`;
    return { location, message: detail ?? 'is refused', value: bead };
  });
  throw problem('sling_refused', `${refused.length} of ${results.length} beads cannot be slung; nothing was changed`, { errors });
}
