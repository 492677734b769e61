import { Injectable } from '@nestjs/common';
import { problem } from '../../../contract/problems.js';
import type { CityScope } from '../../tenancy/cities/city-scope.js';
import type { Recipe } from '../formulas/compile/recipe.js';
import { resolveTarget } from '../../configuration/roster/target.js';
import { RosterService } from '../../configuration/roster/roster.service.js';
import { LaunchAhead } from '../runs/launch/launch-ahead.service.js';
import { LaunchService, type Launched, type LaunchOrder, type ReadyLaunch } from '../runs/launch/launch.service.js';
import { RunPreparation } from '../runs/launch/preparation.service.js';
import type { Work } from '../../work/work/work.js';
import { SlingDispatch, type SlungSomething } from './sling-dispatch.js';
import { invalid, rigContext, type SlingOrder } from './sling-order.js';
import type { FormulaOptions, SlingInputBody, SlingOptions } from './sling.schemas.js';

/** The formula that a request means. */
export interface ChosenFormula {
  readonly name: string;
  /** The canonical name. */
  readonly target: string;
  readonly rig: string;
  readonly vars: Readonly<Record<string, string>>;
  readonly title: string | undefined;
  /** Whether the request says anything about it: otherwise it is how the target works. */
  readonly asked: boolean;
}

/** A formula that a sling launches, as it was made ready before the transaction. */
export interface SlingFormula extends ChosenFormula {
  readonly recipe: Recipe;
  /** The bead that it is for. */
  readonly source: string | undefined;
  readonly ready?: ReadyLaunch | undefined;
}

/** The part of formulas in slings: which one is meant, and its launch. */
@Injectable()
export class SlingFormulas {
  constructor(
    private readonly roster: RosterService,
    private readonly preparation: RunPreparation,
    private readonly launches: LaunchService,
    private readonly dispatch: SlingDispatch,
    private readonly ahead: LaunchAhead,
  ) {}

  /**
   * The formula of a sling of one bead, or of none; undefined for a bead alone.
   *
   * @throws ProblemError as `choose` and `prepare`
   */
  async read(city: CityScope, body: SlingInputBody): Promise<SlingFormula | undefined> {
    if (body.target.trim() === '') return undefined;
    requireOne(body);
    const { bead, attached_bead_id: attached } = body;
    const chosen = await this.choose(city, body);
    return chosen && this.prepare(city, chosen, attached || bead || undefined);
  }

  /**
   * The formula that a request asks for, or that its target works by; undefined for beads alone.
   *
   * @throws ProblemError invalid_request, agent_not_found
   */
  async choose(city: CityScope, body: SlingOptions & FormulaOptions): Promise<ChosenFormula | undefined> {
    const { formula, vars, title, no_formula: none } = body;
    if (formula && none) throw invalid('no_formula conflicts with formula/attached_bead_id', 'body.no_formula');
    const said = vars !== undefined || title !== undefined;
    if (none && !said) return undefined;
    const target = resolveTarget(await this.roster.agents(city.streamId), body.target.trim(), rigContext(body));
    const name = formula || (none ? undefined : await this.preparation.defaultOf(city, target.name));
    if (name === undefined) {
      if (said) throw invalid('formula or target default formula is required when vars or title are provided', 'body.formula');
      return undefined;
    }
    const asked = formula !== undefined || said || body.scope_kind !== undefined;
    return { name, target: target.name, rig: target.rig || body.rig || '', vars: vars ?? {}, title, asked };
  }

  /** @throws ProblemError whatever `RunPreparation.prepare` refuses */
  async prepare(city: CityScope, chosen: ChosenFormula, source: string | undefined): Promise<SlingFormula> {
    const { name: formula, rig, vars, target } = chosen;
    return { ...chosen, source, recipe: await this.preparation.prepare(city, { formula, rig, vars, target, source }) };
  }

  /**
   * Formulas that one transaction launches, with what it can write before it waits for the city.
   *
   * @param isOver whether the sling has been done already
   */
  async ready(
    city: CityScope,
    formulas: readonly SlingFormula[],
    force: boolean,
    isOver?: (work: Work) => Promise<boolean>,
  ): Promise<SlingFormula[]> {
    const ready = await this.ahead.ready(
      city,
      formulas.map((formula) => orderOf(formula, force)),
      isOver,
    );
    return formulas.map((formula, n) => ({ ...formula, ready: ready[n] }));
  }

  /** @throws ProblemError sling_missing_bead, sling_cross_rig, forbidden, and as `LaunchService.launch` and `SlingDispatch.sling` */
  async launch(work: Work, order: SlingOrder, formula: SlingFormula): Promise<SlungSomething> {
    const { recipe, source, asked } = formula;
    if (order.target.name !== formula.target) throw problem('unavailable', 'the agents of the city changed meanwhile; try again');
    // Whoever has the bead closes the steps of a tree; those of a graph are work of their own, and the bead is none beside them.
    const slung = source !== undefined && recipe.compiler === 1 ? await this.dispatch.sling(work, source, order) : undefined;
    if (source !== undefined && recipe.compiler === 2) await this.dispatch.requireGraphTarget(work, source, order);
    const launched = await this.launches.launch(work, { ...orderOf(formula, order.force), askedBy: order.session?.names });
    const { run, created } = launched;
    const mode = source === undefined ? 'standalone' : asked ? 'attached' : 'direct';
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

function orderOf({ recipe, rig, target, source, title, ready }: SlingFormula, force: boolean): LaunchOrder {
  return { recipe, by: 'sling', rig, target, source, title, force: force && source !== undefined, ready };
}

function warningsOf({ run, created }: Launched, { compiler, root_only: alone }: Recipe, source: string | undefined): string[] {
  if (created && (run.outcome === 'fail' || run.outcome === 'canceled'))
    return [`run ${run.id} ${run.outcome === 'fail' ? 'has failed' : 'was canceled'} as it was launched: ${run.error_message}`];
  if (!created || source !== undefined || compiler === 2 || alone) return [];
  return [
    `run ${run.id} is in no queue: whoever reads its steps closes them (\`svc run show ${run.id}\`); attach the formula to a bead (--on) to have it offered`,
  ];
}

/** The first fault is the one that is told. */
function requireOne({ bead, formula, attached_bead_id: attached, no_formula: none }: SlingInputBody): void {
  if (!bead && !formula && !attached) throw invalid('bead or formula is required', 'body.bead');
  if (bead && formula) throw invalid('bead and formula are mutually exclusive', 'body.formula');
  if (bead && attached) throw invalid('bead and attached_bead_id are mutually exclusive', 'body.attached_bead_id');
  if (attached && !formula) throw invalid('formula is required when attached_bead_id is provided', 'body.formula');
  if (none && attached) throw invalid('no_formula conflicts with formula/attached_bead_id', 'body.no_formula');
}
