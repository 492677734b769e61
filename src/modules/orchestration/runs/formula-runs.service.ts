import { Injectable } from '@nestjs/common';
import { problem } from '../../../contract/problems.js';
import { heldItems } from '../../../platform/database/page-bytes.js';
import type { CityScope } from '../../tenancy/cities/city-scope.js';
import { ConfigReadsService } from '../../configuration/config/config-reads.service.js';
import { rigOf } from '../formulas/formula-scope.js';
import type { FormulaRecentRunResponse } from '../formulas/formulas.schemas.js';
import type {
  FormulaFeedBody,
  FormulaFeedQuery,
  FormulaRunsQuery,
  FormulaRunsResponse,
  MonitorFeedItemResponse,
} from './formula-runs.schemas.js';
import { RunCountsService } from '../formulas/run-counts.service.js';
import { RunReadsRepository } from './run-reads.repository.js';
import type { RunRow, RunStatus } from './run-row.js';
import { scopeOf, targetOf } from './runs.mapper.js';

/** How a feed ranks runs: what goes on, what could, what went wrong, what is over. */
const RANKS: readonly RunStatus[] = ['active', 'pending', 'failed', 'completed', 'skipped', 'waiting', 'canceling', 'canceled'];

/** Runs as the pages of formulas show them. */
@Injectable()
export class FormulaRunsService {
  constructor(
    private readonly reads: ConfigReadsService,
    private readonly repository: RunReadsRepository,
    private readonly counts: RunCountsService,
  ) {}

  /** @throws ProblemError invalid_request, scope_not_found; formula_not_found for one that the place neither has nor ever ran */
  async runs(city: CityScope, name: string, query: FormulaRunsQuery): Promise<FormulaRunsResponse> {
    const { config } = await this.reads.current(city);
    const rig = rigOf(query, city.name, config, 'query');
    const [counts, recent] = await Promise.all([
      this.counts.byFormula(city.streamId, rig, name),
      this.repository.ofFormula(city.streamId, rig, name, query.limit),
    ]);
    const count = counts.get(name) ?? 0;
    if (count === 0 && !config.formulas.some((formula) => formula.name === name && (formula.rig === '' || formula.rig === rig)))
      throw problem('formula_not_found', `formula ${name} not found`);
    return { formula: name, run_count: count, recent_runs: recent.map(toRecent), partial: false };
  }

  async feed(city: CityScope, query: FormulaFeedQuery): Promise<FormulaFeedBody> {
    const { config } = await this.reads.current(city);
    const rig = rigOf(query, city.name, config, 'query');
    const rows = await this.repository.feed(city.streamId, rig, RANKS, query.limit);
    const items = rows.map((row) => toFeedItem(row, city.name));
    return { items: items.slice(0, heldItems(items)), partial: false };
  }
}

function toRecent(row: RunRow): FormulaRecentRunResponse {
  return {
    workflow_id: row.id,
    status: row.status,
    target: targetOf(row),
    started_at: row.started_at.toISOString(),
    updated_at: row.updated_at.toISOString(),
  };
}

function toFeedItem(row: RunRow, city: string): MonitorFeedItemResponse {
  const scope = scopeOf(row, city);
  return {
    id: row.id,
    type: 'workflow',
    status: row.status === 'completed' ? 'done' : row.status,
    title: row.title,
    scope_kind: scope.kind,
    scope_ref: scope.ref,
    target: targetOf(row),
    started_at: row.started_at.toISOString(),
    updated_at: row.updated_at.toISOString(),
    workflow_id: row.id,
    root_bead_id: row.id,
    root_store_ref: `${scope.kind}:${scope.ref}`,
    run_detail_available: true,
    ...(row.source_id === null ? {} : { attached_bead_id: row.source_id }),
  };
}
