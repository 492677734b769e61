import { Injectable } from '@nestjs/common';
import { ProblemError, problem } from '../../../contract/problems.js';
import type { CityScope } from '../../tenancy/cities/city-scope.js';
import type { Recipe } from '../formulas/compile/recipe.js';
import type { Ahead } from '../../work/work/ahead.js';
import type { Work } from '../../work/work/work.js';
import { aheadOf } from '../runs/launch/launch-ahead.service.js';
import type { BatchPlan } from './batch-plans.js';
import { resultOf } from './batch-results.js';
import { direct, SlingDispatch, type SlungSomething } from './sling-dispatch.js';
import { SlingFormulas, type ChosenFormula, type SlingFormula } from './sling-formulas.js';
import { invalid } from './sling-order.js';
import { MAX_BATCH_CHARACTERS, type SlingBatchResult } from './sling.schemas.js';

/** What the formula of a batch is for each of its beads, or why it cannot be used for that one. */
export type Ready = ReadonlyMap<string, SlingFormula | ProblemError>;

/** The formula of a batch: made ready for each bead before anything is written, as its variables may name the bead. */
@Injectable()
export class BatchFormulas {
  constructor(
    private readonly formulas: SlingFormulas,
    private readonly dispatch: SlingDispatch,
  ) {}

  /**
   * A bead that the formula cannot be used for has its refusal; when that is so for all of them, it is the batch's.
   *
   * @param most steps of all runs together
   * @throws ProblemError invalid_request, and what `SlingFormulas.prepare` refuses for reasons that are no bead's
   */
  async ready(city: CityScope, chosen: ChosenFormula, beads: readonly string[], most: number): Promise<Ready> {
    const ready = await this.readyFor(city, chosen, beads, most);
    const [first] = ready.values();
    if (first instanceof ProblemError && [...ready.values()].every((one) => one instanceof ProblemError)) throw first;
    return ready;
  }

  /** As `ready`, for some of a batch: it may be that the formula cannot be used for any of these. */
  async readyFor(city: CityScope, chosen: ChosenFormula, beads: readonly string[], most: number): Promise<Ready> {
    const ready = new Map<string, SlingFormula | ProblemError>();
    let steps = 0;
    let characters = 0;
    const sizes = new Map<Recipe['steps'], number>();
    const sizeOf = ({ steps: all }: Recipe): number => {
      const size = sizes.get(all) ?? JSON.stringify(all).length;
      sizes.set(all, size);
      return size;
    };
    for (const bead of beads) {
      const one = await this.formulas.prepare(city, chosen, bead).catch(refusalOf);
      if (!(one instanceof ProblemError)) {
        steps += one.recipe.steps.length;
        characters += sizeOf(one.recipe);
      }
      if (steps > most || characters > MAX_BATCH_CHARACTERS)
        throw invalid(
          `the runs of this batch would have more than ${most} steps or ${MAX_BATCH_CHARACTERS} characters; sling fewer beads at once`,
          'body',
        );
      ready.set(bead, one);
    }
    return ready;
  }

  /** As `SlingFormulas.ready`, of beads that one transaction slings. */
  async readyAhead(city: CityScope, beads: readonly string[], ready: Ready, force: boolean): Promise<Ready> {
    const fit = beads
      .map((bead) => ready.get(bead))
      .filter((one): one is SlingFormula => one !== undefined && !(one instanceof ProblemError));
    const ahead = await this.formulas.ready(city, fit, force);
    return new Map([...ready, ...ahead.map((one) => [one.source!, one] as const)]);
  }

  /** Slings beads of a batch, each for itself. After a refusal nothing of that bead is written, and the transaction goes on with others. */
  async sling(work: Work, beads: readonly string[], plan: BatchPlan, ready: Ready | undefined, dry = false): Promise<SlingBatchResult[]> {
    if (ready === undefined) {
      const slung = await this.dispatch.slingAll(work, beads, plan.order);
      return slung.map((one, n) => resultOf(beads[n]!, plan, dry, one instanceof ProblemError ? one : direct(one)));
    }
    const results: SlingBatchResult[] = [];
    for (const bead of beads) results.push(resultOf(bead, plan, dry, await this.#launch(work, bead, plan, ready.get(bead))));
    return results;
  }

  async #launch(
    work: Work,
    bead: string,
    { order }: BatchPlan,
    one: SlingFormula | ProblemError | undefined,
  ): Promise<SlungSomething | ProblemError> {
    if (one === undefined) throw problem('unavailable', 'the members of the convoy changed meanwhile; try again');
    if (one instanceof ProblemError) return one;
    return work
      .attempt(() => this.formulas.launch(work, order, one))
      .catch((error: unknown) => {
        if (error instanceof ProblemError) return error;
        throw error;
      });
  }
}

/** A refusal that may be one bead's; anything else is the batch's. */
function refusalOf(error: unknown): ProblemError {
  if (error instanceof ProblemError && error.problem === 'invalid_request') return error;
  throw error;
}

/** What the transaction that slings these beads writes before it waits for the city. */
export function aheadFor(beads: readonly string[], ready: Ready | undefined): Ahead[] {
  return aheadOf(
    beads.map((bead) => {
      const one = ready?.get(bead);
      return one instanceof ProblemError ? undefined : one?.ready;
    }),
  );
}
