import { Injectable } from '@nestjs/common';
import { problem } from '../../../contract/problems.js';
import type { Run } from '../../../contract/runs.schemas.js';
import { decodeToken, encodeToken } from '../../../contract/token.js';
import { ANSWER_BYTES, heldItems } from '../../../platform/database/page-bytes.js';
import type { CityScope } from '../../tenancy/cities/city-scope.js';
import type { Done } from '../../work/work/work.service.js';
import { RunReadsRepository, type RunPlace, type StepRow } from './run-reads.repository.js';
import type { RunRow } from './run-row.js';
import { scopeOf, toCounts, toRun, toSnapshot, toStep } from './runs.mapper.js';
import type {
  RunsCensusOutputBody,
  RunsListOutputBody,
  RunsQuery,
  RunStepsOutputBody,
  WorkflowQuery,
  WorkflowSnapshotResponse,
} from './runs.schemas.js';

const DEFAULT_PAGE = 100;
const LIST = 'run';

@Injectable()
export class RunReadsService {
  constructor(private readonly repository: RunReadsRepository) {}

  /** @throws ProblemError invalid_cursor */
  async list(city: CityScope, query: RunsQuery): Promise<Done<RunsListOutputBody>> {
    const below = placeOf(query.cursor);
    const limit = query.limit === 0 ? DEFAULT_PAGE : query.limit;
    const [{ head, value: rows }, counts] = await Promise.all([
      this.repository.list(city.streamId, below, limit + 1),
      this.repository.counts(city.streamId),
    ]);
    const most = rows.slice(0, limit).map((row) => toRun(row, city.name));
    const runs = most.slice(0, heldItems(most));
    const last = rows[runs.length - 1];
    const next = rows.length > runs.length ? { next_cursor: tokenOf(last!) } : {};
    return { value: { runs, status_counts: toCounts(counts.value), ...next, partial: false }, index: head };
  }

  async census(city: CityScope): Promise<Done<RunsCensusOutputBody>> {
    const { head, value } = await this.repository.counts(city.streamId);
    return { value: { status_counts: toCounts(value), partial: false }, index: head };
  }

  /** @throws ProblemError run_not_found */
  async get(city: CityScope, id: string): Promise<Done<Run>> {
    const { head, value } = await this.repository.find(city.streamId, id);
    if (value === undefined) throw runNotFound(id);
    return { value: toRun(value, city.name), index: head };
  }

  /** @throws ProblemError run_not_found; invalid_request when they are too long for one answer */
  async steps(city: CityScope, id: string): Promise<Done<RunStepsOutputBody>> {
    const { value: run } = await this.repository.find(city.streamId, id);
    if (run === undefined) throw runNotFound(id);
    const { head, beads } = await this.#beads(city, id, 'path.run_id');
    const steps = beads.filter((bead) => bead.id !== id).map((bead) => toStep(bead, run));
    return { value: { run_id: id, status: run.status, steps }, index: head };
  }

  /** @throws ProblemError workflow_not_found, invalid_request */
  async snapshot(city: CityScope, id: string, query: WorkflowQuery): Promise<Done<WorkflowSnapshotResponse>> {
    const { value: run } = await this.repository.find(city.streamId, id);
    if (run === undefined || !isIn(run, city, query)) throw workflowNotFound(id);
    const { head, beads } = await this.#beads(city, id, 'path.workflow_id');
    return { value: toSnapshot(run, beads, city.name, head), index: head };
  }

  async #beads(city: CityScope, id: string, at: string): Promise<{ head: number; beads: StepRow[] }> {
    const { head, value } = await this.repository.beads(city.streamId, id);
    if (value === undefined)
      throw problem('invalid_request', `the steps of run ${id} hold more than ${ANSWER_BYTES} bytes`, { at, value: id });
    return { head, beads: value };
  }
}

/** Whether a run is where a request says; one that says nothing means any place. @throws ProblemError invalid_request for half of a scope */
export function isIn(run: Pick<RunRow, 'rig'>, city: CityScope, { scope_kind: kind, scope_ref: ref }: WorkflowQuery): boolean {
  if ((kind === undefined) !== (ref === undefined))
    throw problem('invalid_request', 'scope_kind and scope_ref must be provided together', {
      at: `query.${kind === undefined ? 'scope_kind' : 'scope_ref'}`,
    });
  if (kind === undefined) return true;
  if (kind !== 'city' && kind !== 'rig')
    throw problem('invalid_request', "scope_kind must be 'city' or 'rig'", { at: 'query.scope_kind', value: kind });
  const scope = scopeOf(run, city.name);
  return scope.kind === kind && scope.ref === ref;
}

export function runNotFound(id: string): Error {
  return problem('run_not_found', `run not found: ${id}`);
}

export function workflowNotFound(id: string): Error {
  return problem('workflow_not_found', `workflow ${id} not found`);
}

function tokenOf({ lane, updated, id }: RunPlace): string {
  return encodeToken({ k: LIST, l: lane, u: updated, id });
}

function placeOf(text: string | undefined): RunPlace | undefined {
  if (text === undefined) return undefined;
  const { k, l, u, id } = decodeToken(text) ?? {};
  if (k === LIST && (l === 0 || l === 1 || l === 2) && typeof u === 'string' && /^\d{1,17}$/.test(u) && isId(id))
    return { lane: l, updated: u, id };
  throw problem('invalid_cursor', 'cursor is not a valid pagination token; re-fetch the first page', { at: 'query.cursor' });
}

function isId(value: unknown): value is string {
  return typeof value === 'string' && value !== '' && value.length <= 255;
}
