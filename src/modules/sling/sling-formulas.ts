import { Injectable } from '@nestjs/common';
import { problem } from '../../contract/problems.js';
import type { CityScope } from '../cities/city-scope.js';
import type { Recipe } from '../formulas/compile/recipe.js';
import { resolveTarget } from '../roster/target.js';
import { RosterService } from '../roster/roster.service.js';
import { LaunchService, type Launched } from '../runs/launch/launch.service.js';
import { RunPreparation } from '../runs/launch/preparation.service.js';
import type { Work } from '../work/work.js';
import { SlingDispatch } from './sling-dispatch.js';
import { invalid, rigContext, type SlingOrder } from './sling-order.js';
import type { SlingInputBody, SlingResponse } from './sling.schemas.js';

/** A formula that a sling launches, as it was made ready before the transaction. */
export interface SlingFormula {
  readonly recipe: Recipe;
  readonly mode: SlingResponse['mode'];
  /** The bead that it is for. */
  readonly source: string | undefined;
  readonly rig: string;
  readonly target: string;
  readonly title: string | undefined;
}

export type SlungSomething = Omit<SlingResponse, 'status' | 'target' | 'events'>;

/** The part of formulas in slings: which one is meant, and its launch. */
@Injectable()
export class SlingFormulas {
  constructor(
    private readonly roster: RosterService,
    private readonly preparation: RunPreparation,
    private readonly launches: LaunchService,
    private readonly dispatch: SlingDispatch,
  ) {}

  /**
   * The formula that a request asks for, or that its target works by; undefined for a bead alone.
   *
   * @throws ProblemError invalid_request, agent_not_found, and whatever `RunPreparation.prepare` refuses
   */
  async read(city: CityScope, body: SlingInputBody): Promise<SlingFormula | undefined> {
    if (body.target.trim() === '') return undefined;
    requireOne(body);
    const { bead, attached_bead_id: attached, title } = body;
    if (!body.formula && (!bead || body.no_formula)) return undefined;
    const target = resolveTarget(await this.roster.agents(city.streamId), body.target.trim(), rigContext(body));
    const name = body.formula || (await this.preparation.defaultOf(city, target.name));
    if (name === undefined) {
      if (body.vars !== undefined || title !== undefined)
        throw invalid('formula or target default formula is required when vars or title are provided', 'body.formula');
      return undefined;
    }
    const source = attached || bead || undefined;
    const rig = target.rig || body.rig || '';
    const wanted = { formula: name, rig, vars: body.vars ?? {}, target: target.name, source };
    const recipe = await this.preparation.prepare(city, wanted);
    const asked = body.formula !== undefined || body.vars !== undefined || title !== undefined || body.scope_kind !== undefined;
    return { recipe, mode: source === undefined ? 'standalone' : asked ? 'attached' : 'direct', source, rig, target: target.name, title };
  }

  /** @throws ProblemError as `LaunchService.launch` and `SlingDispatch.sling` */
  async launch(work: Work, order: SlingOrder, formula: SlingFormula): Promise<SlungSomething> {
    const { recipe, mode, source, rig, title } = formula;
    if (order.target.name !== formula.target) throw problem('unavailable', 'the agents of the city changed meanwhile; try again');
    // Whoever has the bead closes the steps of a tree; those of a graph are work of their own, and the bead is none beside them.
    const slung = source !== undefined && recipe.compiler === 1 ? await this.dispatch.sling(work, source, order) : undefined;
    const launched = await this.launches.launch(work, {
      ...{ recipe, by: 'sling', rig, target: order.target.name, source, title, force: order.force && source !== undefined },
    });
    const { run, created } = launched;
    return {
      ...(source === undefined ? {} : { bead: source }),
      mode,
      formula: run.formula,
      ...(source === undefined || mode === 'direct' ? {} : { attached_bead_id: source }),
      workflow_id: run.id,
      root_bead_id: run.id,
      run: { run_id: run.id, kind: 'sling', status: run.status },
      ...(slung?.convoyId === undefined ? {} : { convoy_id: slung.convoyId }),
      changed: created || slung?.changed === true,
      warnings: [...(slung?.warnings ?? []), ...warningsOf(launched, recipe, source)],
    };
  }
}

function warningsOf({ run, created }: Launched, { compiler, root_only: alone }: Recipe, source: string | undefined): string[] {
  if (!created || source !== undefined || compiler === 2 || alone) return [];
  return [
    `run ${run.id} is in no queue: its steps are closed by whoever reads GET …/runs/${run.id}/steps; attach the formula to a bead to have it offered`,
  ];
}

/** The first fault is the one that is told. */
function requireOne({ bead, formula, attached_bead_id: attached, no_formula: none }: SlingInputBody): void {
  if (!bead && !formula && !attached) throw invalid('bead or formula is required', 'body.bead');
  if (bead && formula) throw invalid('bead and formula are mutually exclusive', 'body.formula');
  if (bead && attached) throw invalid('bead and attached_bead_id are mutually exclusive', 'body.attached_bead_id');
  if (attached && !formula) throw invalid('formula is required when attached_bead_id is provided', 'body.formula');
  if (none && (formula || attached)) throw invalid('no_formula conflicts with formula/attached_bead_id', 'body.no_formula');
}
